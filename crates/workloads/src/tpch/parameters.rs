//! Substitution parameters: drawn by the rules of clause 2.4, or those by which answers are validated.

use std::fmt::Display;

use load::Rng;
use tpchgen::distribution::{Distribution, Distributions};

/// Names, each with what stands in its place.
pub type Values = Vec<(String, String)>;

/// Where they come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameters {
    Drawn,
    Validation,
}

/// A first day of a month, as year and month.
#[derive(Debug, Clone, Copy)]
struct Month(i64, i64);

impl Month {
    /// Uniform over both ends.
    fn between(rng: &mut Rng, from: Month, to: Month) -> Month {
        Month(from.0, from.1).later(rng.below((to.index() - from.index() + 1) as u64) as i64)
    }

    fn index(self) -> i64 {
        self.0 * 12 + self.1 - 1
    }

    fn later(self, months: i64) -> Month {
        let index = self.index() + months;
        Month(index / 12, index % 12 + 1)
    }

    fn day(self, day: i64) -> String {
        format!("{:04}-{:02}-{day:02}", self.0, self.1)
    }
}

/// The list of values of one query.
#[derive(Default)]
struct List(Values);

impl List {
    fn put(mut self, name: &str, value: impl Display) -> List {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    /// A span of whole months from one on.
    fn span(self, from: Month, months: i64) -> List {
        self.put("date", from.day(1)).put("date_end", from.later(months).day(1))
    }

    /// Values by their places from 1.
    fn each(self, name: &str, values: impl IntoIterator<Item = impl Display>) -> List {
        (1..).zip(values).fold(self, |list, (place, value)| list.put(&format!("{name}{place}"), value))
    }
}

fn uniform(rng: &mut Rng, from: i64, to: i64) -> i64 {
    from + rng.below((to - from + 1) as u64) as i64
}

fn word<'a>(rng: &mut Rng, words: &'a Distribution) -> &'a str {
    words.get_value(rng.below(words.size() as u64) as usize)
}

/// So many different ones of `from..=to`, in the order they were drawn.
fn different(rng: &mut Rng, count: usize, from: i64, to: i64) -> Vec<i64> {
    let mut all: Vec<i64> = (from..=to).collect();
    rng.shuffle(&mut all);
    all.truncate(count);
    all
}

fn different_words<'a>(rng: &mut Rng, words: &'a Distribution) -> Vec<&'a str> {
    different(rng, 2, 0, words.size() as i64 - 1).into_iter().map(|place| words.get_value(place as usize)).collect()
}

fn brand(rng: &mut Rng) -> String {
    format!("Brand#{}{}", uniform(rng, 1, 5), uniform(rng, 1, 5))
}

/// A year's first month.
fn year(rng: &mut Rng) -> Month {
    Month(uniform(rng, 1993, 1997), 1)
}

/// So many days before 1998-12-01, which are 60 to 120.
fn shipped_before(days: i64) -> String {
    let (month, day) = match days {
        ..=61 => (10, 1 + 61 - days),
        62..=91 => (9, 1 + 91 - days),
        _ => (8, 1 + 122 - days),
    };
    Month(1998, month).day(day)
}

fn discounts(list: List, percent: i64) -> List {
    let (low, high) = (percent - 1, percent + 1);
    let text = |percent: i64| format!("0.{percent:02}");
    list.put("low", text(low)).put("high", text(high)).put("low_percent", low).put("high_percent", high)
}

/// A share of the stock that shrinks as the data grow.
fn fraction(scale_factor: f64) -> String {
    format!("{:.10}", 0.0001 / scale_factor)
}

fn quantities(list: List, quantities: [i64; 3]) -> List {
    list.each("quantity", quantities).each("most", quantities.map(|least| least + 10))
}

/// Of a query by its number, from a stream's generator.
pub fn drawn(query: usize, scale_factor: f64, rng: &mut Rng) -> Values {
    let words = Distributions::static_default();
    let list = List::default();
    let drawn = match query {
        1 => list.put("date", shipped_before(uniform(rng, 60, 120))),
        2 => {
            let kind = word(rng, words.part_types()).split(' ').next_back().unwrap_or_default();
            list.put("size", uniform(rng, 1, 50)).put("type", kind).put("region", word(rng, words.regions()))
        }
        3 => {
            let segment = word(rng, words.market_segments());
            list.put("segment", segment).put("date", Month(1995, 3).day(uniform(rng, 1, 31)))
        }
        4 | 15 => list.span(Month::between(rng, Month(1993, 1), Month(1997, 10)), 3),
        5 => list.put("region", word(rng, words.regions())).span(year(rng), 12),
        6 => {
            let list = list.span(year(rng), 12);
            discounts(list, uniform(rng, 2, 9)).put("quantity", uniform(rng, 24, 25))
        }
        7 => list.each("nation", different_words(rng, words.nations())),
        8 => {
            let nation = rng.below(words.nations().size() as u64) as usize;
            let region = words.nations().get_weight(nation) as usize;
            list.put("nation", words.nations().get_value(nation))
                .put("region", words.regions().get_value(region))
                .put("type", word(rng, words.part_types()))
        }
        9 => list.put("color", word(rng, words.part_colors())),
        10 => list.span(Month::between(rng, Month(1993, 2), Month(1995, 1)), 3),
        11 => list.put("nation", word(rng, words.nations())).put("fraction", fraction(scale_factor)),
        12 => list.each("mode", different_words(rng, words.ship_modes())).span(year(rng), 12),
        13 => {
            let of = |rng: &mut Rng, words: [&'static str; 4]| words[rng.below(4) as usize];
            let first = of(rng, ["special", "pending", "unusual", "express"]);
            list.put("word1", first).put("word2", of(rng, ["packages", "requests", "accounts", "deposits"]))
        }
        14 => list.span(Month(uniform(rng, 1993, 1997), uniform(rng, 1, 12)), 1),
        16 => {
            let kind = word(rng, words.part_types());
            let kind = kind.rsplit_once(' ').map_or(kind, |(first, _)| first);
            let list = list.put("brand", brand(rng)).put("type", kind);
            list.put("sizes", joined(&different(rng, 8, 1, 50)))
        }
        17 => list.put("brand", brand(rng)).put("container", word(rng, words.part_containers())),
        18 => list.put("quantity", uniform(rng, 312, 315)),
        19 => {
            let least = [uniform(rng, 1, 10), uniform(rng, 10, 20), uniform(rng, 20, 30)];
            quantities(list, least).each("brand", [brand(rng), brand(rng), brand(rng)])
        }
        20 => {
            let color = word(rng, words.part_colors());
            list.put("color", color).span(year(rng), 12).put("nation", word(rng, words.nations()))
        }
        21 => list.put("nation", word(rng, words.nations())),
        _ => list.put("codes", quoted(&different(rng, 7, 10, 34))),
    };
    drawn.0
}

/// Those by which the specification validates answers at scale factor 1.
pub fn validation(query: usize, scale_factor: f64) -> Values {
    let list = List::default();
    let values = match query {
        1 => list.put("date", shipped_before(90)),
        2 => list.put("size", 15).put("type", "BRASS").put("region", "EUROPE"),
        3 => list.put("segment", "BUILDING").put("date", "1995-03-15"),
        4 => list.span(Month(1993, 7), 3),
        5 => list.put("region", "ASIA").span(Month(1994, 1), 12),
        6 => discounts(list.span(Month(1994, 1), 12), 6).put("quantity", 24),
        7 => list.each("nation", ["FRANCE", "GERMANY"]),
        8 => list.put("nation", "BRAZIL").put("region", "AMERICA").put("type", "ECONOMY ANODIZED STEEL"),
        9 => list.put("color", "green"),
        10 => list.span(Month(1993, 10), 3),
        11 => list.put("nation", "GERMANY").put("fraction", fraction(scale_factor)),
        12 => list.each("mode", ["MAIL", "SHIP"]).span(Month(1994, 1), 12),
        13 => list.put("word1", "special").put("word2", "requests"),
        14 => list.span(Month(1995, 9), 1),
        15 => list.span(Month(1996, 1), 3),
        16 => {
            let sizes = joined(&[49, 14, 23, 45, 19, 3, 36, 9]);
            list.put("brand", "Brand#45").put("type", "MEDIUM POLISHED").put("sizes", sizes)
        }
        17 => list.put("brand", "Brand#23").put("container", "MED BOX"),
        18 => list.put("quantity", 300),
        19 => quantities(list, [1, 10, 20]).each("brand", ["Brand#12", "Brand#23", "Brand#34"]),
        20 => list.put("color", "forest").span(Month(1994, 1), 12).put("nation", "CANADA"),
        21 => list.put("nation", "SAUDI ARABIA"),
        _ => list.put("codes", quoted(&[13, 31, 23, 29, 30, 18, 17])),
    };
    values.0
}

fn joined(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

fn quoted(numbers: &[i64]) -> String {
    numbers.iter().map(|number| format!("'{number}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_before_december_are_counted_by_the_calendar() {
        for (days, date) in [
            (60, "1998-10-02"),
            (61, "1998-10-01"),
            (62, "1998-09-30"),
            (90, "1998-09-02"),
            (91, "1998-09-01"),
            (92, "1998-08-31"),
            (120, "1998-08-03"),
        ] {
            assert_eq!(shipped_before(days), date);
        }
    }

    #[test]
    fn what_is_drawn_stays_within_the_rules() {
        let value = |values: &Values, name: &str| values.iter().find(|(known, _)| known == name).unwrap().1.clone();
        for seed in 0..500 {
            let of = |query| drawn(query, 1.0, &mut Rng::stream(seed, 0, query as u64));
            let (dates, late) = (of(10), value(&of(1), "date"));
            assert!(("1998-08-03".."1998-10-03").contains(&late.as_str()), "{late}");
            let (from, to) = (value(&dates, "date"), value(&dates, "date_end"));
            assert!(("1993-02-01"..="1995-01-01").contains(&from.as_str()) && to > from, "{from} {to}");
            assert_ne!(value(&of(7), "nation1"), value(&of(7), "nation2"));
            assert_ne!(value(&of(12), "mode1"), value(&of(12), "mode2"));
            assert_eq!(value(&of(16), "sizes").split(", ").collect::<std::collections::BTreeSet<_>>().len(), 8);
            assert_eq!(value(&of(16), "type").split(' ').count(), 2);
            assert!(value(&of(8), "type").split(' ').count() == 3 && !value(&of(2), "type").contains(' '));
            assert_eq!(value(&of(22), "codes").split(", ").count(), 7);
        }
    }

    #[test]
    fn a_nation_is_in_its_region() {
        let of = |nation: &str| {
            let all = (0..1000).map(|seed| drawn(8, 1.0, &mut Rng::stream(seed, 0, 8)));
            let mut of_nation = all.filter(|values| values[0].1 == nation).map(|values| values[1].1.clone());
            of_nation.next().unwrap()
        };
        for (nation, region) in
            [("BRAZIL", "AMERICA"), ("CHINA", "ASIA"), ("ALGERIA", "AFRICA"), ("IRAN", "MIDDLE EAST")]
        {
            assert_eq!(of(nation), region);
        }
        assert_eq!(of("UNITED KINGDOM"), "EUROPE");
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_one_something_else() {
        let of =
            |seed| (1..=22).map(|query| drawn(query, 1.0, &mut Rng::stream(seed, 0, query as u64))).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn every_drawn_name_is_one_of_the_validation() {
        for query in 1..=22 {
            let names =
                |values: Values| values.into_iter().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>();
            let drawn = drawn(query, 1.0, &mut Rng::stream(1, 0, 0));
            assert_eq!(names(drawn), names(validation(query, 1.0)), "Q{query}");
        }
    }
}
