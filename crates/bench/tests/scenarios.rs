//! Scenarios and their texts.

use haul_bench::{SCENARIOS, Scale, ScenarioError, Work, parse_scenario};

#[test]
fn every_scenario_can_be_made_at_both_scales() {
    for definition in SCENARIOS {
        let quick = parse_scenario(definition.name, Scale::Quick, 1).unwrap();
        let full = parse_scenario(definition.name, Scale::Full, 1).unwrap();
        assert!(quick.volume().entries <= full.volume().entries, "{}", definition.name);
        assert_eq!(quick.name, definition.name);
    }
}

#[test]
fn recipes_can_be_changed() {
    let scenario = parse_scenario("huge:size=4M", Scale::Quick, 9).unwrap();
    assert_eq!(scenario.recipe.to_string(), "flat:files=1,size=4194304,seed=9");
    assert_eq!(scenario.work, Work::CopyFile);
    let volume = parse_scenario("nested-small:files=10,dirs=2", Scale::Full, 1).unwrap().volume();
    assert_eq!((volume.entries, volume.data_bytes, volume.block_bytes), (14, 10_240, 40_960));
}

#[test]
fn mistakes_say_what_would_be_right() {
    let error = parse_scenario("nested", Scale::Quick, 1).unwrap_err();
    assert_eq!(error, ScenarioError::Unknown("nested".to_owned()));
    assert!(error.to_string().contains("nested-small, flat-small"));
    let error = parse_scenario("huge:dirs=3", Scale::Quick, 1).unwrap_err().to_string();
    assert!(error.contains("no key 'dirs'"), "{error}");
}
