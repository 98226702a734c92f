//! `sysbench.rand`: its distributions over 32-bit numbers, by the formulas of sysbench 1.0.

use load::{Distribution, Rng, Special, Turn, unique};

/// The distributions that a script draws from, with the parameters of the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shapes {
    pub special: Special,
    pub pareto_h: f64,
    pub zipfian_exponent: f64,
    /// By its place in [`Shapes::NAMES`].
    pub default: usize,
}

impl Shapes {
    pub const NAMES: [&str; 5] = ["uniform", "gaussian", "special", "pareto", "zipfian"];

    pub fn distributions(self) -> [Distribution; 5] {
        [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: self.special.iterations },
            Distribution::Special(self.special),
            Distribution::pareto(self.pareto_h),
            Distribution::Zipfian { exponent: self.zipfian_exponent },
        ]
    }
}

/// The random numbers of one client.
#[derive(Debug, Clone)]
pub struct Random {
    rng: Rng,
    shapes: [Distribution; 5],
    default: Distribution,
    seed: u64,
    client: u32,
    clients: u32,
    /// Numbers taken of the unique sequence.
    taken: u64,
    /// Where the script first asked for an interval that wraps.
    pub wrapped_at: Option<String>,
}

impl Random {
    pub fn new(shapes: Shapes, seed: u64, client: u32, clients: u32) -> Random {
        let distributions = shapes.distributions();
        let rng = Rng::stream(seed, client.into(), u64::MAX);
        Random {
            rng,
            shapes: distributions,
            default: distributions[shapes.default],
            seed,
            client,
            clients,
            taken: 0,
            wrapped_at: None,
        }
    }

    /// The inputs of a transaction follow from the seed, the client and its number; another try draws anew.
    pub fn begin(&mut self, turn: Turn) {
        let mut first = Rng::stream(self.seed, turn.series, turn.number);
        self.rng = if turn.retry == 0 { first } else { Rng::stream(first.next_u64(), turn.series, turn.retry) };
    }

    pub fn default(&mut self, low: f64, high: f64) -> u32 {
        self.draw(self.default, low, high)
    }

    /// `shape` is a place in [`Shapes::NAMES`].
    pub fn of_shape(&mut self, shape: usize, low: f64, high: f64) -> u32 {
        self.draw(self.shapes[shape], low, high)
    }

    /// Ends are cut to whole numbers and wrap, as in C; an interval that ends before it begins wraps too.
    fn draw(&mut self, distribution: Distribution, low: f64, high: f64) -> u32 {
        let (low, high) = (low as i64 as u32, high as i64 as u32);
        let width = high.wrapping_sub(low);
        low.wrapping_add(distribution.draw_between(&mut self.rng, 0, width.into()) as u32)
    }

    /// Whether the ends are not what a draw between them can be made of.
    pub fn wraps(low: f64, high: f64) -> bool {
        let fits = |end: f64| (0.0..=f64::from(u32::MAX)).contains(&end);
        !fits(low) || !fits(high) || high < low
    }

    pub fn unit(&mut self) -> f64 {
        self.rng.unit()
    }

    pub fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A number that no other draw of the run gives, until all of 32 bits are used up. Clients take places of one
    /// sequence in turn, so they share nothing.
    pub fn unique(&mut self) -> u32 {
        let place = self.taken * u64::from(self.clients.max(1)) + u64::from(self.client);
        self.taken += 1;
        (unique::scattered(place, self.seed) + (1 << 31)) as u32
    }

    /// `#` becomes a digit, `@` a letter; the rest stays.
    pub fn string(&mut self, format: &[u8]) -> Vec<u8> {
        let drawn = |byte: &u8| match byte {
            b'#' => b'0' + self.rng.below(10) as u8,
            b'@' => b'a' + self.rng.below(26) as u8,
            other => *other,
        };
        format.iter().map(drawn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: Shapes = Shapes {
        special: Special { iterations: 12, percent: 1, reserved: 75 },
        pareto_h: 0.2,
        zipfian_exponent: 0.8,
        default: 2,
    };

    fn random() -> Random {
        Random::new(SHAPES, 7, 0, 1)
    }

    #[test]
    fn ends_are_cut_and_wrap_as_in_c() {
        let mut random = random();
        let mut draws = |low, high| (0..1_000).map(|_| random.of_shape(0, low, high)).collect::<Vec<_>>();
        assert!(draws(1.9, 3.9).iter().all(|drawn| (1..=3).contains(drawn)));
        assert!(draws(-5.0, 5.0).iter().all(|drawn| *drawn <= 5 || *drawn >= u32::MAX - 4));
        assert!(draws(5.0, 1.0).iter().any(|drawn| *drawn > 5));
        assert_eq!(draws(0.0, 0.0)[0], 0);
    }

    #[test]
    fn draws_have_the_moments_of_sysbench() {
        let check = |shape: usize, from: f64, to: f64| {
            let mut random = random();
            let mean = (0..20_000).map(|_| f64::from(random.of_shape(shape, 1.0, 10_000.0))).sum::<f64>() / 20_000.0;
            assert!((from..to).contains(&mean), "{}: {mean}", Shapes::NAMES[shape]);
        };
        check(0, 4_900.0, 5_100.0);
        check(1, 4_970.0, 5_030.0);
        check(2, 4_980.0, 5_040.0);
        check(3, 1_168.0, 1_268.0);
        let mut random = random();
        let inside = (0..20_000).filter(|_| (4_975..=5_051).contains(&random.default(1.0, 10_000.0))).count();
        assert!((14_980..15_380).contains(&inside), "special sends 75.9 % of the draws there, {inside} of 20000 came");
    }

    #[test]
    fn a_transaction_draws_the_same_whenever_it_runs_and_another_try_does_not() {
        let drawn = |number, retry| {
            let mut random = random();
            random.begin(Turn { series: 0, number, retry });
            random.next_u64()
        };
        assert_eq!(drawn(3, 0), drawn(3, 0));
        assert_ne!(drawn(3, 0), drawn(4, 0));
        assert_ne!(drawn(3, 0), drawn(3, 1));
    }

    #[test]
    fn unique_numbers_of_all_clients_differ() {
        let mut clients: Vec<Random> = (0..4).map(|client| Random::new(SHAPES, 7, client, 4)).collect();
        let drawn: std::collections::HashSet<u32> =
            (0..4_000).map(|place: usize| clients[place % 4].unique()).collect();
        assert_eq!(drawn.len(), 4_000);
    }

    #[test]
    fn strings_follow_their_format() {
        let drawn = String::from_utf8(random().string(b"##-@@x")).unwrap();
        let kinds: String = drawn
            .chars()
            .map(|c| {
                if c.is_ascii_digit() {
                    '#'
                } else if c.is_ascii_lowercase() && c != 'x' {
                    '@'
                } else {
                    c
                }
            })
            .collect();
        assert!(kinds.starts_with("##-") && drawn.ends_with('x') && drawn.len() == 6, "{drawn}");
    }
}
