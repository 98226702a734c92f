//! Ends a script that does not end by itself.

#![expect(unsafe_code, reason = "a hook of LuaJIT is set from another thread, for which mlua has no function")]

use std::os::raw::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Lua, ffi};

/// A Lua state that another thread may stop for as long as it is there.
#[derive(Clone)]
pub struct Stop(Arc<Mutex<Option<State>>>);

struct State(*mut ffi::lua_State);

// SAFETY: the pointer is used under the lock only, and for `lua_sethook` alone, which LuaJIT allows from any thread.
unsafe impl Send for State {}

/// Fails whatever the script runs. It stays set, so that a script which catches the error meets it again.
unsafe extern "C-unwind" fn fail(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: LuaJIT calls a hook with its running state, and the text is a C string.
    unsafe { ffi::luaL_error(state, c"the script was stopped: it did not end".as_ptr()) };
}

impl Stop {
    pub fn of(lua: &Lua) -> mlua::Result<Stop> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the function touches no state.
        unsafe { lua.exec_raw::<()>((), |state| pointer = state)? };
        Ok(Stop(Arc::new(Mutex::new(Some(State(pointer))))))
    }

    /// Compiled loops look for it, too: LuaJIT is built so in `.cargo/config.toml`.
    pub fn stop(&self) {
        const EVERY_INSTRUCTION: c_int = 1;
        if let Some(State(state)) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the state is there, since it is forgotten before it goes.
            unsafe { ffi::lua_sethook(*state, Some(fail), ffi::LUA_MASKCOUNT, EVERY_INSTRUCTION) };
        }
    }

    /// The state goes.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
