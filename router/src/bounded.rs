//! A map that never grows beyond its bound: what was not used for long is forgotten first.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Two generations of entries, each with a weight. A lookup keeps an entry in the younger one;
/// when that has half the bound, it becomes the older one, and what nobody asked for since is
/// dropped. One lookup costs at most two hashes, and forgetting costs nothing per entry.
#[derive(Debug)]
pub(crate) struct Bounded<K, V> {
    young: HashMap<K, Weighed<V>>,
    young_weight: usize,
    old: HashMap<K, Weighed<V>>,
    half: usize,
}

#[derive(Debug)]
struct Weighed<V> {
    value: V,
    weight: usize,
}

impl<K: Hash + Eq, V> Bounded<K, V> {
    /// An empty map whose entries together weigh at most `bound`; the entry that was entered last
    /// is kept whatever it weighs.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            young: HashMap::new(),
            young_weight: 0,
            old: HashMap::new(),
            half: (bound / 2).max(1),
        }
    }

    /// The value of a key, which counts as a use.
    pub(crate) fn get<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if !self.young.contains_key(key) {
            let (key, entry) = self.old.remove_entry(key)?;
            self.insert(key, entry.value, entry.weight);
        }
        self.young.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Enters a value in place of the one the key had.
    pub(crate) fn insert(&mut self, key: K, value: V, weight: usize) {
        self.remove(&key);
        if self.young_weight + weight > self.half {
            self.old = std::mem::take(&mut self.young);
            self.young_weight = 0;
        }
        self.young_weight += weight;
        self.young.insert(key, Weighed { value, weight });
    }

    /// Forgets a key.
    pub(crate) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(entry) = self.young.remove(key) {
            self.young_weight -= entry.weight;
            return Some(entry.value);
        }
        self.old.remove(key).map(|entry| entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<K, V> Bounded<K, V> {
        fn weight(&self) -> usize {
            let all = self.young.values().chain(self.old.values());
            all.map(|entry| entry.weight).sum()
        }
    }

    #[test]
    fn what_is_used_stays_and_the_bound_holds() {
        let mut map = Bounded::new(8);
        map.insert("used".to_owned(), 0, 1);
        for n in 0..100 {
            map.insert(format!("n{n}"), n, 1);
            assert_eq!(map.get("used"), Some(&mut 0));
            assert!(map.weight() <= 8);
        }
        assert_eq!(map.get("n0"), None);
        assert_eq!(map.get("n99"), Some(&mut 99));
    }

    #[test]
    fn heavy_entries_displace_many_light_ones() {
        let mut map = Bounded::new(100);
        for n in 0..40 {
            map.insert(n, "light", 1);
        }
        map.insert(100, "heavy", 50);
        map.insert(101, "heavy", 50);
        assert!(map.weight() <= 100);
        assert_eq!(map.get(&101), Some(&mut "heavy"));
        map.insert(102, "too heavy", 1000);
        assert_eq!(map.get(&102), Some(&mut "too heavy"));
    }

    #[test]
    fn an_entry_has_one_value() {
        let mut map = Bounded::new(4);
        for n in 0..10 {
            map.insert("a", n, 1);
            map.insert("b", n, 1);
        }
        assert_eq!(map.remove("a"), Some(9));
        assert_eq!(map.remove("a"), None);
        assert_eq!(map.get("b"), Some(&mut 9));
    }
}
