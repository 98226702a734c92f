//! What disturbs a made-up host, second by second.

use rand_chacha::ChaCha8Rng;

use crate::random::Normals;

/// A recipe; what is zero is absent. Sizes are standard deviations of log throughput or shares of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    pub name: &'static str,
    pub description: &'static str,
    /// Between trials: where the memory of a fresh server happened to lie.
    trial_sd: f64,
    /// By how much of its first value that grows with every block.
    growth_per_block: f64,
    /// Trials differ as Student's t with two degrees of freedom, which has no variance.
    heavy_tails: bool,
    /// Between seconds, without memory.
    second_sd: f64,
    /// Between seconds, each leaning on the last one by a factor drawn for the run from 0.5 to 0.9.
    autoregressive_sd: f64,
    /// Of a host that wanders and comes back within minutes.
    host_sd: f64,
    drift_per_hour: f64,
    /// A neighbour takes this share, for 40 s, every quarter of an hour on average.
    spike_share: f64,
    /// A checkpoint takes this share, for 4 s of every 25 s.
    stall_share: f64,
    /// Up and down by this share, in step with the trials if nothing breaks the step.
    wave_share: f64,
}

const HOST_TAU_S: f64 = 300.0;
const SPIKE_S: f64 = 40.0;
const SPIKE_EVERY_S: f64 = 900.0;
const STALL_S: f64 = 4.0;
const STALL_PERIOD_S: f64 = 25.0;
/// Two trials without gaps.
const WAVE_PERIOD_S: f64 = 2.0 * (OVERHEAD_S + MEASURED_S as f64);

const QUIET: Noise = Noise {
    name: "quiet",
    description: "trials differ by 0.8 %, seconds by 2 %",
    trial_sd: 0.008,
    growth_per_block: 0.0,
    heavy_tails: false,
    second_sd: 0.02,
    autoregressive_sd: 0.0,
    host_sd: 0.0,
    drift_per_hour: 0.0,
    spike_share: 0.0,
    stall_share: 0.0,
    wave_share: 0.0,
};

const WANDERING: Noise = Noise {
    name: "wandering",
    description: "AR(1) seconds, 0.5 to 0.9, on a host that wanders with tau 300 s",
    autoregressive_sd: 0.04,
    host_sd: 0.026,
    ..QUIET
};

/// Every kind of noise that the method must live with.
pub const NOISES: &[Noise] = &[
    QUIET,
    WANDERING,
    Noise { name: "drift", description: "wandering, and 8 % slower each hour", drift_per_hour: -0.08, ..WANDERING },
    Noise {
        name: "spikes",
        description: "wandering, and a neighbour takes 20 % for 40 s now and then",
        spike_share: 0.2,
        ..WANDERING
    },
    Noise {
        name: "stalls",
        description: "wandering, and checkpoints take 50 % for 4 s of every 25 s",
        stall_share: 0.5,
        ..WANDERING
    },
    Noise {
        name: "tails",
        description: "quiet, but trials differ as t with 2 degrees of freedom",
        heavy_tails: true,
        ..QUIET
    },
    Noise {
        name: "growing",
        description: "quiet, but trials differ more with every block",
        growth_per_block: 0.5,
        ..QUIET
    },
    Noise {
        name: "wave",
        description: "quiet, and up and down 10 % with the period of two trials",
        wave_share: 0.1,
        ..QUIET
    },
    Noise {
        name: "all",
        description: "wandering, drift, spikes and stalls together",
        drift_per_hour: -0.08,
        spike_share: 0.2,
        stall_share: 0.5,
        ..WANDERING
    },
];

/// A host that is somewhere in its time.
pub struct Host<'a> {
    noise: &'a Noise,
    pub normals: Normals<ChaCha8Rng>,
    now_s: f64,
    /// How much each second leans on the last one.
    lean: f64,
    /// Log throughput that the host grants beyond its mean.
    grants: f64,
    spike_from_s: f64,
    wave_phase_s: f64,
}

impl<'a> Host<'a> {
    pub fn new(noise: &'a Noise, mut normals: Normals<ChaCha8Rng>) -> Host<'a> {
        let lean = 0.5 + 0.4 * normals.uniform();
        let grants = noise.host_sd * normals.draw();
        // The spike before the first trial may still go on.
        let spike_from_s = -SPIKE_S + exponential(&mut normals, SPIKE_EVERY_S);
        let wave_phase_s = WAVE_PERIOD_S * normals.uniform();
        Host { noise, normals, now_s: 0.0, lean, grants, spike_from_s, wave_phase_s }
    }

    /// Time between measurements.
    pub fn idle(&mut self, seconds: f64) {
        self.pass(seconds);
    }

    /// Throughput in each second of a trial, where 1 is what an undisturbed server does.
    pub fn trial(&mut self, block: usize, seconds: usize) -> Vec<f64> {
        let noise = self.noise;
        let of_trial = self.trial_effect(block);
        let stall_phase_s = STALL_PERIOD_S * self.normals.uniform();
        let mut leaning = if noise.autoregressive_sd > 0.0 { self.normals.draw() } else { 0.0 };
        let new_share = (1.0 - self.lean * self.lean).sqrt();
        let mut second = |number: usize| {
            self.pass(1.0);
            if noise.autoregressive_sd > 0.0 {
                leaning = self.lean * leaning + new_share * self.normals.draw();
            }
            let smooth =
                of_trial + noise.autoregressive_sd * leaning + noise.second_sd * self.normals.draw() + self.grants;
            let stalled = (number as f64 + stall_phase_s) % STALL_PERIOD_S < STALL_S;
            let stall = if stalled { noise.stall_share } else { 0.0 };
            (smooth + self.drift()).exp() * (1.0 - stall) * (1.0 - self.spike()) * (1.0 + self.wave())
        };
        (0..seconds).map(&mut second).collect()
    }

    fn trial_effect(&mut self, block: usize) -> f64 {
        let normal = self.normals.draw();
        let shape = if self.noise.heavy_tails { normal / exponential(&mut self.normals, 1.0).sqrt() } else { normal };
        self.noise.trial_sd * (1.0 + self.noise.growth_per_block * block as f64) * shape
    }

    fn pass(&mut self, seconds: f64) {
        self.now_s += seconds;
        if self.noise.host_sd > 0.0 {
            let kept = (-seconds / HOST_TAU_S).exp();
            self.grants = kept * self.grants + self.noise.host_sd * (1.0 - kept * kept).sqrt() * self.normals.draw();
        }
        while self.noise.spike_share > 0.0 && self.spike_from_s + SPIKE_S < self.now_s {
            self.spike_from_s += SPIKE_S + exponential(&mut self.normals, SPIKE_EVERY_S - SPIKE_S);
        }
    }

    fn drift(&self) -> f64 {
        self.noise.drift_per_hour * self.now_s / 3600.0
    }

    fn spike(&self) -> f64 {
        if self.now_s >= self.spike_from_s { self.noise.spike_share } else { 0.0 }
    }

    fn wave(&self) -> f64 {
        let place = (self.now_s + self.wave_phase_s) % WAVE_PERIOD_S;
        if place < WAVE_PERIOD_S / 2.0 { self.noise.wave_share } else { -self.noise.wave_share }
    }
}

/// A waiting time without memory.
fn exponential(normals: &mut Normals<ChaCha8Rng>, mean: f64) -> f64 {
    -mean * (1.0 - normals.uniform()).ln()
}

/// What a trial of the simulation takes, in seconds: start and warm-up, then the measured interval.
pub(super) const OVERHEAD_S: f64 = 25.0;

pub(super) const MEASURED_S: usize = 60;
