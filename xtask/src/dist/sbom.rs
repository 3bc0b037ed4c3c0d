//! The software bill of materials: CycloneDX 1.5, <https://cyclonedx.org/docs/1.5/json/>.

use super::dependencies::Dependency;
use super::version::Version;
use serde_json::{Value, json};

/// Returns the bill of the binary. It has no serial number and no time of its own, so that two builds
/// agree.
pub(super) fn bill(version: &Version, dependencies: &[Dependency]) -> String {
    let components: Vec<_> = dependencies.iter().map(component).collect();
    let number = &version.number;
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": format!("pkg:cargo/haul@{number}"),
                "name": "haul",
                "version": number,
                "purl": format!("pkg:cargo/haul@{number}"),
            },
        },
        "components": components,
    });
    format!("{bill:#}\n")
}

fn component(dependency: &Dependency) -> Value {
    let Dependency { name, version, licence, sha256, .. } = dependency;
    let purl = format!("pkg:cargo/{name}@{version}");
    let hashes: Vec<_> =
        sha256.iter().map(|sum| json!({"alg": "SHA-256", "content": sum})).collect();
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "scope": "required",
        "hashes": hashes,
        "licenses": [{"expression": licence}],
        "purl": purl,
    })
}
