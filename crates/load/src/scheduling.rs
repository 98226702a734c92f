//! Where and how the kernel runs the calling thread. A kernel that refuses leaves it as it is.

/// Keeps this thread on `cpus`, where there are any.
pub fn confine_to(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    // SAFETY: an all-zero cpu_set_t is an empty set, and the calls only touch it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// `SCHED_BATCH` or `SCHED_IDLE`. By the system call itself, since musl's function refuses whatever is asked.
pub fn schedule_as(policy: libc::c_int) {
    let priority: libc::c_int = 0;
    // SAFETY: 0 is this thread, and the number, which is all of the kernel's `sched_param`, is live.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
}
