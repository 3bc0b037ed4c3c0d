//! The structures are the same in the header and in the library.

use std::mem::offset_of;

use haul_capi::{CallerOptions, ItemView, Totals};

use crate::support::{Laboratory, text};

/// Sizes and offsets of a structure: its name in C, its size, its fields.
macro_rules! structure {
    ($c:literal, $of:ty, $($field:ident)+) => {{
        let fields = vec![$((stringify!($field), offset_of!($of, $field))),+];
        ($c, size_of::<$of>(), fields)
    }};
}

#[test]
fn structures_have_one_layout() {
    let Some(laboratory) = Laboratory::new() else { return };
    let structures = [
        structure!("haul_options", CallerOptions,
            size flags jobs descriptors cancel progress found context exclude exclude_count
            directory owner group),
        structure!("haul_item", ItemView, kind error_number action source target message),
        structure!("haul_totals", Totals,
            entries files directories bytes skipped failures warnings differences deleted),
    ];
    let mut checks = String::new();
    for (name, size, fields) in structures {
        checks += &format!("_Static_assert(sizeof(struct {name}) == {size}, \"{name}\");\n");
        for (field, offset) in fields {
            let is_at = format!("offsetof(struct {name}, {field}) == {offset}");
            checks += &format!("_Static_assert({is_at}, \"{name}.{field}\");\n");
        }
    }
    let program = format!(
        "#include <haul.h>\n#include <stdio.h>\n{checks}
int main(void) {{ puts(haul_version()); return 0; }}\n"
    );
    laboratory.compile("layout", &program);
    let done = laboratory.run(&["./layout"]);
    assert_eq!(text(&done.stdout), concat!(env!("CARGO_PKG_VERSION"), "\n"));
}
