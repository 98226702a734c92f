//! What the five transactions are asked to do, drawn before the clock starts (clauses 2.4.1 to 2.8.1).
//!
//! Inputs follow from the seed, the series and the number of a transaction, and from nothing that a
//! server answers, so that every contender gets the same and a retry repeats them.

use super::options::Tpcc;
use super::options::{Home, Mix};
use super::random::{CUSTOMERS_PER_DISTRICT, Constants, DISTRICTS, ITEMS, LAST_NAMES, LastName, nurand, rnd};
use load::{ARRIVALS, Rng, Turn};

pub const LINES_MAX: usize = 15;

/// One line of an order. Its number is its place in the order, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    pub item: i64,
    pub supply_w: i64,
    pub quantity: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewOrder {
    pub w: i64,
    pub d: i64,
    pub c: i64,
    lines: [Line; LINES_MAX],
    count: usize,
}

impl NewOrder {
    /// An order of these lines, [`LINES_MAX`] at most.
    pub fn of([w, d, c]: [i64; 3], asked: &[Line]) -> NewOrder {
        let mut lines = [Line::default(); LINES_MAX];
        lines[..asked.len()].copy_from_slice(asked);
        NewOrder { w, d, c, lines, count: asked.len() }
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// The places of the lines in the order in which they are worked on: by warehouse and item, so that two
    /// orders lock stock in the same order; a line with an unused item last, behind the work of all others.
    pub fn in_lock_order(&self) -> impl Iterator<Item = usize> + use<> {
        let mut places: [usize; LINES_MAX] = std::array::from_fn(|place| place);
        let key = |place: &usize| {
            let Line { item, supply_w, .. } = self.lines[*place];
            (item > ITEMS, supply_w, item, *place)
        };
        places[..self.count].sort_unstable_by_key(key);
        places.into_iter().take(self.count)
    }

    pub fn all_local(&self) -> bool {
        self.lines().iter().all(|line| line.supply_w == self.w)
    }
}

/// How a customer is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Customer {
    Id(i64),
    LastName(LastName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payment {
    pub w: i64,
    pub d: i64,
    /// Where the customer lives.
    pub c_w: i64,
    pub c_d: i64,
    pub customer: Customer,
    pub amount_cents: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderStatus {
    pub w: i64,
    pub d: i64,
    pub customer: Customer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    pub w: i64,
    pub carrier: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockLevel {
    pub w: i64,
    pub d: i64,
    pub threshold: i64,
}

#[expect(clippy::large_enum_variant, reason = "a box would be an allocation in measured time")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

impl Inputs {
    /// Its place in the workload's list of kinds.
    pub fn kind(&self) -> usize {
        match self {
            Inputs::NewOrder(_) => 0,
            Inputs::Payment(_) => 1,
            Inputs::OrderStatus(_) => 2,
            Inputs::Delivery(_) => 3,
            Inputs::StockLevel(_) => 4,
        }
    }
}

/// Draws the inputs of one client.
#[derive(Debug, Clone)]
pub struct Drawer {
    warehouses: i64,
    mix: Mix,
    home: Home,
    /// The terminal's own district for Stock-Level, where the pacing has terminals.
    fixed_district: bool,
    constants: Constants,
    input_seed: u64,
}

/// Streams of the generator beside those of transactions, which have the numbers of their series.
const DECKS: u64 = u64::from_be_bytes(*b"tpccdeck");
const HOMES: u64 = u64::from_be_bytes(*b"tpcchome");

/// Cards of a deck, by kind (clause 5.2.4.2 allows it instead of weights).
const DECK: [usize; 23] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4];
/// In percent, by kind.
const WEIGHTS: [i64; 5] = [45, 43, 4, 4, 4];

impl Drawer {
    pub fn new(tpcc: &Tpcc, data_seed: u64, input_seed: u64) -> Drawer {
        Drawer {
            warehouses: tpcc.warehouses as i64,
            mix: tpcc.mix,
            home: tpcc.home,
            fixed_district: tpcc.pacing == super::options::Pacing::Spec,
            constants: Constants::of(data_seed, input_seed),
            input_seed,
        }
    }

    /// The kind of a transaction, as its place in the list of kinds.
    pub fn kind(&self, turn: Turn) -> usize {
        let mut rng = self.stream(turn);
        self.draw_kind(turn, &mut rng)
    }

    pub fn draw(&self, turn: Turn) -> Inputs {
        let mut rng = self.stream(turn);
        let kind = self.draw_kind(turn, &mut rng);
        let w = self.home_of(turn, &mut rng);
        match kind {
            0 => Inputs::NewOrder(self.new_order(w, &mut rng)),
            1 => Inputs::Payment(self.payment(w, &mut rng)),
            2 => Inputs::OrderStatus(OrderStatus {
                w,
                d: rnd(&mut rng, 1, DISTRICTS),
                customer: self.customer(&mut rng),
            }),
            3 => Inputs::Delivery(Delivery { w, carrier: rnd(&mut rng, 1, 10) }),
            _ => {
                let drawn = rnd(&mut rng, 1, DISTRICTS);
                let own = (turn.series as i64 / self.warehouses) % DISTRICTS + 1;
                let d = if self.fixed_district && turn.series != ARRIVALS { own } else { drawn };
                Inputs::StockLevel(StockLevel { w, d, threshold: rnd(&mut rng, 10, 20) })
            }
        }
    }

    fn stream(&self, turn: Turn) -> Rng {
        Rng::stream(self.input_seed, turn.series, turn.number)
    }

    fn draw_kind(&self, turn: Turn, rng: &mut Rng) -> usize {
        match self.mix {
            Mix::Deck => {
                let size = DECK.len() as u64;
                self.deck(turn.series, turn.number / size)[(turn.number % size) as usize]
            }
            Mix::Cards => DECK[rng.below(DECK.len() as u64) as usize],
            Mix::Weighted => {
                let mut left = rnd(rng, 0, 99);
                WEIGHTS
                    .iter()
                    .position(|weight| {
                        left -= weight;
                        left < 0
                    })
                    .expect("the weights add up to 100")
            }
        }
    }

    /// A deck of a series, shuffled.
    fn deck(&self, series: u64, round: u64) -> [usize; DECK.len()] {
        let mut rng = Rng::stream(self.input_seed ^ DECKS, series, round);
        let mut deck = DECK;
        rng.shuffle(&mut deck);
        deck
    }

    fn home_of(&self, turn: Turn, rng: &mut Rng) -> i64 {
        match self.home {
            // Arrivals of an open loop belong to no client.
            Home::Fixed if turn.series != ARRIVALS => turn.series as i64 % self.warehouses + 1,
            Home::Drawn if turn.series != ARRIVALS => {
                rnd(&mut Rng::stream(self.input_seed ^ HOMES, turn.series, 0), 1, self.warehouses)
            }
            Home::Fixed | Home::Drawn | Home::Random => rnd(rng, 1, self.warehouses),
        }
    }

    /// Any other warehouse; the only one there is stays itself.
    fn other_than(&self, w: i64, rng: &mut Rng) -> i64 {
        if self.warehouses == 1 {
            return w;
        }
        let other = rnd(rng, 1, self.warehouses - 1);
        if other >= w { other + 1 } else { other }
    }

    fn new_order(&self, w: i64, rng: &mut Rng) -> NewOrder {
        let d = rnd(rng, 1, DISTRICTS);
        let c = nurand(rng, 1023, self.constants.c_id, 1, CUSTOMERS_PER_DISTRICT);
        let count = rnd(rng, 5, LINES_MAX as i64) as usize;
        let is_rolled_back = rnd(rng, 1, 100) == 1;
        let mut lines = [Line::default(); LINES_MAX];
        for line in &mut lines[..count] {
            let item = nurand(rng, 8191, self.constants.item_id, 1, ITEMS);
            let is_remote = rnd(rng, 1, 100) == 1;
            let supply_w = if is_remote { self.other_than(w, rng) } else { w };
            *line = Line { item, supply_w, quantity: rnd(rng, 1, 10) };
        }
        if is_rolled_back {
            // An unused item, and only behind the work of all others.
            lines[count - 1].item = ITEMS + 1;
        }
        NewOrder { w, d, c, lines, count }
    }

    fn payment(&self, w: i64, rng: &mut Rng) -> Payment {
        let d = rnd(rng, 1, DISTRICTS);
        let is_remote = self.warehouses > 1 && rnd(rng, 1, 100) > 85;
        let (c_w, c_d) = if is_remote { (self.other_than(w, rng), rnd(rng, 1, DISTRICTS)) } else { (w, d) };
        Payment { w, d, c_w, c_d, customer: self.customer(rng), amount_cents: rnd(rng, 100, 500_000) }
    }

    /// By last name in 60 of 100 cases.
    fn customer(&self, rng: &mut Rng) -> Customer {
        if rnd(rng, 1, 100) <= 60 {
            let number = nurand(rng, 255, self.constants.c_last_run, 0, LAST_NAMES - 1);
            return Customer::LastName(LastName::of(number));
        }
        Customer::Id(nurand(rng, 1023, self.constants.c_id, 1, CUSTOMERS_PER_DISTRICT))
    }
}
