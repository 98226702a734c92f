//! Normal numbers from a seeded stream.

use rand::RngCore;

/// A number from [0, 1), of which every value has the same 53 bits on every machine.
pub fn uniform(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Two independent standard normal numbers (Marsaglia's polar method).
pub fn normal_pair(random: &mut impl RngCore) -> [f64; 2] {
    loop {
        let (across, up) = (2.0 * uniform(random) - 1.0, 2.0 * uniform(random) - 1.0);
        let square = across * across + up * up;
        if square > 0.0 && square < 1.0 {
            let stretch = (-2.0 * square.ln() / square).sqrt();
            return [across * stretch, up * stretch];
        }
    }
}

/// Standard normal numbers one at a time.
pub struct Normals<R> {
    random: R,
    spare: Option<f64>,
}

impl<R: RngCore> Normals<R> {
    pub fn new(random: R) -> Normals<R> {
        Normals { random, spare: None }
    }

    pub fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let [one, other] = normal_pair(&mut self.random);
        self.spare = Some(other);
        one
    }

    pub fn uniform(&mut self) -> f64 {
        uniform(&mut self.random)
    }

    pub fn coin(&mut self) -> bool {
        self.random.next_u32() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::describe::{mean, sd};

    #[test]
    fn the_numbers_are_standard_normal() {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(5));
        let numbers: Vec<f64> = (0..40_000).map(|_| normals.draw()).collect();
        let beyond = |bound: f64| numbers.iter().filter(|number| number.abs() > bound).count() as f64 / 40_000.0;
        // Four standard errors each.
        assert!(mean(&numbers).unwrap().abs() < 0.02 && (sd(&numbers).unwrap() - 1.0).abs() < 0.015);
        assert!((beyond(1.959964) - 0.05).abs() < 0.0044 && (beyond(2.575829) - 0.01).abs() < 0.002);
    }
}
