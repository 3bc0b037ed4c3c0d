//! Methods that set one field each, so that a caller names only what differs from a plain request.
//!
//! Requests and policies get new fields in time, so no other crate may list all of them.

/// Defines a method of the same name for each field, which takes the value and returns the whole.
macro_rules! setters {
    ($of:ty { $($field:ident: $value:ty),+ $(,)? }) => {
        impl $of {
            $(
                #[doc = concat!("Sets `", stringify!($field), "`, and returns the rest unchanged.")]
                #[must_use]
                pub fn $field(mut self, $field: $value) -> $of {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;
