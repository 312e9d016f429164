//! The types that can be indexed, and their conversion.

use super::Value;
use super::number;

/// A type whose values can be one component of an indexed value.
pub trait Component {
    /// Appends it to the components of a value.
    fn append_to(&self, value: &mut Value);
}

/// The result of an index function, or the value of a query: a component, several as a tuple, or an `Option`
/// of these, of which `None` is not indexed.
pub trait IntoValue {
    /// The value; `None` if it is not indexed.
    fn into_value(self) -> Option<Value>;
}

impl Component for str {
    fn append_to(&self, value: &mut Value) {
        value.push_text(self.as_bytes());
    }
}

impl Component for String {
    fn append_to(&self, value: &mut Value) {
        self.as_str().append_to(value);
    }
}

impl Component for bool {
    fn append_to(&self, value: &mut Value) {
        let mut key = Vec::with_capacity(1);
        espalier_keyspace::tuple::put_boolean(&mut key, *self);
        value.push(&key);
    }
}

impl Component for [u8] {
    fn append_to(&self, value: &mut Value) {
        value.push_binary(self);
    }
}

impl Component for Vec<u8> {
    fn append_to(&self, value: &mut Value) {
        value.push_binary(self);
    }
}

impl Component for f64 {
    fn append_to(&self, value: &mut Value) {
        value.push(&number::of_float(*self));
    }
}

impl Component for f32 {
    fn append_to(&self, value: &mut Value) {
        f64::from(*self).append_to(value);
    }
}

macro_rules! integers {
    ($($type:ty => $wide:ty, $encode:path;)*) => {$(
        impl Component for $type {
            fn append_to(&self, value: &mut Value) {
                value.push(&$encode(*self as $wide));
            }
        }
    )*};
}

integers! {
    u8 => u64, number::of_unsigned;
    u16 => u64, number::of_unsigned;
    u32 => u64, number::of_unsigned;
    u64 => u64, number::of_unsigned;
    usize => u64, number::of_unsigned;
    i8 => i64, number::of_signed;
    i16 => i64, number::of_signed;
    i32 => i64, number::of_signed;
    i64 => i64, number::of_signed;
    isize => i64, number::of_signed;
}

impl<C: Component + ?Sized> Component for &C {
    fn append_to(&self, value: &mut Value) {
        (**self).append_to(value);
    }
}

impl<A: Component, B: Component> Component for (A, B) {
    fn append_to(&self, value: &mut Value) {
        self.0.append_to(value);
        self.1.append_to(value);
    }
}

impl<A: Component, B: Component, C: Component> Component for (A, B, C) {
    fn append_to(&self, value: &mut Value) {
        self.0.append_to(value);
        self.1.append_to(value);
        self.2.append_to(value);
    }
}

impl<A: Component, B: Component, C: Component, D: Component> Component for (A, B, C, D) {
    fn append_to(&self, value: &mut Value) {
        self.0.append_to(value);
        self.1.append_to(value);
        self.2.append_to(value);
        self.3.append_to(value);
    }
}

impl<C: Component> IntoValue for C {
    fn into_value(self) -> Option<Value> {
        let mut value = Value::default();
        self.append_to(&mut value);
        Some(value)
    }
}

impl<V: IntoValue> IntoValue for Option<V> {
    fn into_value(self) -> Option<Value> {
        self.and_then(IntoValue::into_value)
    }
}

impl IntoValue for Value {
    fn into_value(self) -> Option<Value> {
        Some(self)
    }
}

impl IntoValue for &Value {
    fn into_value(self) -> Option<Value> {
        Some(self.clone())
    }
}
