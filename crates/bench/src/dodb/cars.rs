//! The cars, and the collection they are in.

use espalier_documents::{Declaration, Policy};
use serde::{Deserialize, Serialize};

/// A car of the scenario: about 90 bytes of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Car {
    /// Unique.
    pub name: String,
    pub color: String,
    pub keywords: Vec<String>,
}

/// How many documents have a colour, and a keyword, of their own.
#[derive(Clone, Debug)]
pub struct Groups {
    /// For each number of documents, how many have been given so far.
    left: Vec<(u64, u64)>,
    total: u64,
}

impl Groups {
    /// Groups of these sizes, as far as they fit among so many cars.
    pub fn new(sizes: &[u64], total: u64) -> Self {
        let mut left = Vec::new();
        let mut sum = 0;
        for &size in sizes {
            if sum + size <= total {
                sum += size;
                left.push((size, size));
            }
        }
        Self { left, total }
    }

    /// The sizes that there are.
    pub fn sizes(&self) -> Vec<u64> {
        self.left.iter().map(|(size, _)| *size).collect()
    }

    /// The group of the car of this number: every group is spread over all of them.
    fn of(&mut self, number: u64) -> Option<u64> {
        let rest = self.total - number;
        let needed: u64 = self.left.iter().map(|(_, left)| left).sum();
        if needed == 0 {
            return None;
        }
        // A mixing of the number, so that the groups are not runs.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
        let mut at = mixed % rest;
        for (size, left) in &mut self.left {
            if at < *left {
                *left -= 1;
                return Some(*size);
            }
            at -= *left;
        }
        None
    }

    /// The car of this number; the numbers ascend from 0.
    pub fn car(&mut self, number: u64) -> Car {
        let group = self.of(number);
        Car {
            name: name(number),
            color: group.map_or_else(|| format!("grey-{}", number % 1000), color),
            keywords: [
                group.map_or_else(|| format!("plain-{}", number % 1000), tag),
                group.map_or_else(|| format!("usual-{}", number % 777), second_tag),
                format!("elegant-{}", number % 500),
                format!("impressive-{}", number % 300),
            ]
            .into(),
        }
    }
}

/// The name of the car of this number.
pub fn name(number: u64) -> String {
    format!("Corvet-{number}")
}

/// The colour that so many cars have.
pub fn color(size: u64) -> String {
    format!("red-{size}")
}

/// The keyword that so many cars have.
pub fn tag(size: u64) -> String {
    format!("fast-{size}")
}

/// A keyword that the same cars have.
pub fn second_tag(size: u64) -> String {
    format!("old-{size}")
}

/// The collection: three indexes, one of each kind.
pub fn cars(policy: Policy) -> Declaration<Car> {
    Declaration::new("cars")
        .policy(policy)
        .unique("name", |car: &Car| espalier_documents::Value::of(&car.name))
        .partition("color", |car: &Car| {
            espalier_documents::Value::of(&car.color)
        })
        .tags("keyword", |car: &Car| {
            let keywords = car.keywords.iter();
            keywords
                .map(espalier_documents::Value::of)
                .collect::<Vec<_>>()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_as_many_cars_as_they_say() {
        let mut groups = Groups::new(&[1, 20, 300, 5000], 1000);
        assert_eq!(groups.sizes(), [1, 20, 300]);
        let cars: Vec<_> = (0..1000).map(|number| groups.car(number)).collect();
        for size in [1, 20, 300] {
            let has = |car: &&Car| car.color == color(size) && car.keywords.contains(&tag(size));
            assert_eq!(cars.iter().filter(has).count() as u64, size);
        }
    }
}
