//! A typed collection with three indexes.
//!
//! $ cargo run -p espalier --example collection

use espalier::documents::{Declaration, Query};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Car {
    name: String,
    color: String,
    year: u32,
    keywords: Vec<String>,
}

fn car(name: &str, color: &str, year: u32, keywords: &[&str]) -> Car {
    Car {
        name: name.to_owned(),
        color: color.to_owned(),
        year,
        keywords: keywords.iter().map(|word| (*word).to_owned()).collect(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = espalier::open("memory:")?;
    let documents = espalier::documents(&store);
    let cars = Declaration::<Car>::new("cars")
        .unique("name", |car| car.name.clone())
        .partition("color and year", |car| (car.color.clone(), car.year))
        .tags("keyword", |car| car.keywords.clone())
        .open(&documents)?;
    cars.insert(car("Corvet-1", "red", 1999, &["fast", "old"]))?;
    cars.insert(car("Corvet-2", "red", 2004, &["fast"]))?;
    cars.insert(car("Mini-1", "blue", 1964, &["old", "small"]))?;

    // By value, by range, by several tags.
    let index = cars.index("color and year")?;
    let nineties = index.find(Query::range(("red", 1990)..("red", 2000)))?;
    println!("red, of the nineties: {}", names(&nineties));
    let both = cars.index("keyword")?.all(["fast", "old"])?;
    println!("fast and old: {}", names(&both));
    cars.index("name")?
        .update("Mini-1", |car| car.year = 1965)?;
    let mini = cars.index("name")?.get("Mini-1")?;
    println!("Mini-1: {:?}", mini.map(|car| car.year));

    // A second car with the same name is rejected, and nothing is written.
    match cars.insert(car("Mini-1", "green", 1970, &[])) {
        Err(error) => println!("refused: {error}"),
        Ok(key) => println!("unexpected: stored under {key}"),
    }
    Ok(())
}

fn names(found: &[(u64, std::sync::Arc<Car>)]) -> String {
    let names: Vec<&str> = found.iter().map(|(_, car)| car.name.as_str()).collect();
    names.join(", ")
}
