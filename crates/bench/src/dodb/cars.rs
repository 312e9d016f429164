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

/// Assigns cars to groups, each with its own colour and keywords.
#[derive(Clone, Debug)]
pub struct Groups {
    /// For each group: its size, and how many of its cars were not generated yet.
    left: Vec<(u64, u64)>,
    total: u64,
}

impl Groups {
    /// Creates groups of these sizes, as long as they fit into `total` cars.
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

    /// The sizes of the groups.
    pub fn sizes(&self) -> Vec<u64> {
        self.left.iter().map(|(size, _)| *size).collect()
    }

    /// The group of a car. Each group is spread over all numbers.
    fn of(&mut self, number: u64) -> Option<u64> {
        let rest = self.total - number;
        let needed: u64 = self.left.iter().map(|(_, left)| left).sum();
        if needed == 0 {
            return None;
        }
        // Mix the number, so that groups are not runs of numbers.
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

    /// The car of a number; calls must have ascending numbers from 0.
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

/// The name of a car.
pub fn name(number: u64) -> String {
    format!("Corvet-{number}")
}

/// The colour of the group of a size.
pub fn color(size: u64) -> String {
    format!("red-{size}")
}

/// The keyword of the group of a size.
pub fn tag(size: u64) -> String {
    format!("fast-{size}")
}

/// The second keyword of the group of a size.
pub fn second_tag(size: u64) -> String {
    format!("old-{size}")
}

/// The declaration of the collection, with one index of each kind.
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
    fn groups_have_the_declared_number_of_cars() {
        let mut groups = Groups::new(&[1, 20, 300, 5000], 1000);
        assert_eq!(groups.sizes(), [1, 20, 300]);
        let cars: Vec<_> = (0..1000).map(|number| groups.car(number)).collect();
        for size in [1, 20, 300] {
            let has = |car: &&Car| car.color == color(size) && car.keywords.contains(&tag(size));
            assert_eq!(cars.iter().filter(has).count() as u64, size);
        }
    }
}
