//! Public types, traits and functions without a doc comment. The compiler's `missing_docs` also
//! asks for one on every field and variant, where it mostly repeats the name.

use syn::{Attribute, ImplItem, Item, TraitItem, Visibility};

use crate::code::{Crate, defined_name};

/// The public items of libraries that nothing describes, as `file: name`.
pub(crate) fn undocumented(crates: &[Crate]) -> Vec<String> {
    let modules = crates
        .iter()
        .filter(|one| one.library)
        .flat_map(|one| &one.modules);
    modules
        .flat_map(|module| {
            let names = module.items.iter().flat_map(undocumented_names);
            names.map(|name| format!("{}: {name} has no doc comment", module.file))
        })
        .collect()
}

fn undocumented_names(item: &Item) -> Vec<String> {
    let is_public = |vis: &Visibility| matches!(vis, Visibility::Public(_));
    let (vis, attrs) = match item {
        Item::Const(item) => (&item.vis, &item.attrs),
        Item::Enum(item) => (&item.vis, &item.attrs),
        Item::Fn(item) => (&item.vis, &item.attrs),
        Item::Static(item) => (&item.vis, &item.attrs),
        Item::Struct(item) => (&item.vis, &item.attrs),
        Item::Type(item) => (&item.vis, &item.attrs),
        Item::Trait(item) => {
            let methods = item.items.iter().filter_map(|member| match member {
                TraitItem::Fn(method) if !has_doc(&method.attrs) => {
                    Some(format!("{}::{}", item.ident, method.sig.ident))
                }
                _ => None,
            });
            let own = (!has_doc(&item.attrs)).then(|| item.ident.to_string());
            return if is_public(&item.vis) {
                own.into_iter().chain(methods).collect()
            } else {
                Vec::new()
            };
        }
        // A trait's implementation is described by the trait.
        Item::Impl(item) if item.trait_.is_none() => {
            let methods = item.items.iter().filter_map(|member| match member {
                ImplItem::Fn(method) if is_public(&method.vis) && !has_doc(&method.attrs) => {
                    Some(method.sig.ident.to_string())
                }
                _ => None,
            });
            return methods.collect();
        }
        _ => return Vec::new(),
    };
    if is_public(vis) && !has_doc(attrs) {
        defined_name(item).into_iter().collect()
    } else {
        Vec::new()
    }
}

fn has_doc(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("doc"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn public_items_of_libraries_need_a_doc_comment_and_fields_do_not() {
        let text = "
            /// Described.
            pub struct Card { pub id: u8 }
            impl Card { pub fn open(&self) {} fn private(&self) {} }
            impl Clone for Card { fn clone(&self) -> Self { Self } }
            pub enum State { Ready }
            /// Described.
            pub trait Store { fn read(&self); }
            pub(crate) fn internal() {}";
        let library = Crate::from_text("library", &[("", text)]);
        let program = Crate::from_text("program", &[("", "fn main() {} pub fn free() {}")]);
        assert_eq!(
            undocumented(&[library, program]),
            ["open", "State", "Store::read"]
                .map(|name| format!("library/.rs: {name} has no doc comment"))
        );
    }
}
