use std::collections::{BTreeMap, HashMap};
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Circle { r: f64 }
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { 3.14 * self.r * self.r } }
impl Circle { #[inline(never)] fn grown(&self, by: f64) -> Circle { Circle { r: self.r + by } } }
fn words(text: &str) -> HashMap<String, Vec<usize>> {
    let mut m: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, w) in text.split_whitespace().enumerate() { m.entry(w.to_uppercase()).or_default().push(i); }
    m
}
fn main() {
    let n = std::env::args().count();
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(n as f64)), Box::new(Circle { r: 2.0 }.grown(1.0))];
    let total: f64 = shapes.iter().map(|s| s.area()).sum();
    let m = words("the quick brown fox jumps over the lazy dog the end");
    let mut sorted: BTreeMap<_, _> = m.iter().collect();
    let mut keys: Vec<_> = sorted.keys().map(|k| k.chars().rev().collect::<String>()).collect();
    keys.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    sorted.clear();
    println!("{} {:?}", total, keys);
}
