//! The schemas of `docs/schema/`: a validator for the part of JSON Schema that they use.
//!
//! It is stricter than the standard: a property that no schema describes is an error, so that an
//! undocumented one fails the tests.

use std::path::Path;

use serde_json::{Map, Value};

use super::Outcome;

/// Parses a text and checks it by the schema of this name.
pub(crate) fn parsed(schema: &str, text: &str) -> Outcome<Value> {
    let value = serde_json::from_str(text)?;
    check(schema, &value)?;
    Ok(value)
}

/// Parses lines and checks each by the schema of this name.
pub(crate) fn lines(schema: &str, text: &str) -> Outcome<Vec<Value>> {
    let root = load(schema)?;
    let mut values = Vec::new();
    for line in text.lines() {
        let value = serde_json::from_str(line)?;
        Checker { root: &root }.check(&root, &value, "")?;
        values.push(value);
    }
    Ok(values)
}

/// Checks a value by the schema of this name.
pub(crate) fn check(schema: &str, value: &Value) -> Outcome {
    let root = load(schema)?;
    Ok(Checker { root: &root }.check(&root, value, "")?)
}

fn load(schema: &str) -> Outcome<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    Ok(serde_json::from_slice(&std::fs::read(folder.join(format!("{schema}.json")))?)?)
}

/// Words that describe and do not restrict.
const NOTES: [&str; 4] = ["$schema", "$defs", "title", "description"];

struct Checker<'r> {
    root: &'r Value,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let Some(schema) = schema.as_object() else {
            return Err(format!("{at}: the schema is no object"));
        };
        for (word, rule) in schema {
            match word.as_str() {
                note if NOTES.contains(&note) => {}
                "$ref" => self.check(self.definition(rule)?, value, at)?,
                "type" => is_of_type(rule, value, at)?,
                "const" if rule == value => {}
                "const" => return Err(format!("{at}: {value} is not {rule}")),
                "enum" if rule.as_array().is_some_and(|all| all.contains(value)) => {}
                "enum" => return Err(format!("{at}: {value} is none of {rule}")),
                "minimum" => {
                    if value.as_f64() < rule.as_f64() && value.is_number() {
                        return Err(format!("{at}: {value} is less than {rule}"));
                    }
                }
                "oneOf" | "anyOf" => self.alternatives(word, rule, value, at)?,
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}/{index}"))?;
                    }
                }
                "required" => {
                    for name in rule.as_array().into_iter().flatten() {
                        let name = name.as_str().unwrap_or_default();
                        if value.as_object().is_some_and(|object| !object.contains_key(name)) {
                            return Err(format!("{at}: there is no {name} in {value}"));
                        }
                    }
                }
                "properties" | "additionalProperties" => {}
                other => return Err(format!("{at}: the validator does not know '{other}'")),
            }
        }
        self.properties(schema, value, at)
    }

    fn definition(&self, reference: &Value) -> Result<&Value, String> {
        let name = reference.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
        name.and_then(|name| self.root.get("$defs")?.get(name))
            .ok_or_else(|| format!("the schema does not define {reference}"))
    }

    fn alternatives(&self, word: &str, all: &Value, value: &Value, at: &str) -> Result<(), String> {
        let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
        let refused: Vec<String> =
            all.iter().filter_map(|one| self.check(one, value, at).err()).collect();
        let fitting = all.len() - refused.len();
        match (word, fitting) {
            (_, 0) => Err(format!("{at}: {value} fits no alternative: {refused:#?}")),
            ("oneOf", 2..) => Err(format!("{at}: {value} fits {fitting} alternatives")),
            _ => Ok(()),
        }
    }

    fn properties(
        &self,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let (named, others) = (schema.get("properties"), schema.get("additionalProperties"));
        let (Some(object), true) = (value.as_object(), named.is_some() || others.is_some()) else {
            return Ok(());
        };
        for (name, value) in object {
            let at = format!("{at}/{name}");
            match (named.and_then(|named| named.get(name)), others) {
                (Some(rule), _) => self.check(rule, value, &at)?,
                (None, Some(Value::Bool(true))) => {}
                (None, Some(rule)) if rule.is_object() => self.check(rule, value, &at)?,
                (None, _) => return Err(format!("{at}: no schema describes it")),
            }
        }
        Ok(())
    }
}

fn is_of_type(rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    };
    let names = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
    if names.iter().filter_map(Value::as_str).any(is) {
        Ok(())
    } else {
        Err(format!("{at}: {value} is not of type {rule}"))
    }
}
