//! `.env` files of every kind, through python-dotenv as the reference uses it, and through ours.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::{Map, Value};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(files_mean_the_same_to_either);

/// Loads files as the reference does, without its rewriting of the file, and prints what the names
/// mean after each.
const READER: &str = "\
import json, os, sys
from pathlib import Path
from hermes_cli.env_loader import _load_dotenv_with_fallback
names = sys.argv[1].split(',')
before = dict(os.environ)
found = []
for file in sys.argv[2:]:
    os.environ.clear()
    os.environ.update(before)
    _load_dotenv_with_fallback(Path(file), override=True)
    found.append({name: os.environ.get(name) for name in names})
print(json.dumps(found))
";

/// Names that the files below assign.
const NAMES: [&str; 6] = ["A", "B", "C", "A_API_KEY", "B_TOKEN", "OUTSIDE"];

const FILES: [&[u8]; 46] = [
    b"A=1",
    b"A=1\n",
    b"  A  =  1  \n",
    b"export A=1\nexport\tB=2\nexportC=3\n",
    b"A=\nB=''\nC=\"\"\n",
    b"A=a b c\nB=a#b\nC=a #b\n",
    b"A= # comment\nB=# comment\nC=  #\n",
    b"A='x' # c\nB=\"y\"# c\nC='z' trailing\n",
    b"A='it\\'s'\nB=\"say \\\"hi\\\"\"\nC='a\\\\b\\n'\n",
    b"A=\"\\a\\b\\f\\n\\r\\t\\v\\\\\\x\"\n",
    b"A=\"one\ntwo\"\nB='three\n\nfour'\nC=5\n",
    b"A=\"never closed\nB=2\n",
    b"A='never closed\nB=2\nC=it's\n",
    b"A=\"ends with backslash\\\"\nB=2\n",
    b"A=\"x\\\\\"\nB=\"y\"\n",
    b"'A'=1\n'B'='2'\n\"C\"=3\n",
    b"'A\nB=2\n",
    b"=1\nA=2\n",
    b"A\nB=2\n",
    b"A B=1\nC=3\n",
    b"# A=1\n   # B=2\nC=3 # D=4\n",
    b"A=1\r\nB=2\r\n",
    b"A=1\rB=2\rC=3",
    b"A=\"1\r\n2\"\r\nB='3\r4'\r\n",
    b"\n\n\nA=1\n\n\nB=2\n",
    b"\xc2\xa0A=1\n\xe2\x80\x83B\xc2\xa0=\xc2\xa02\xc2\xa0\n",
    b"A=1\x0bB=2\n\x1cC=3\n",
    b"A=Gr\xfc\xdfe\nB=2\n",
    b"A=Gr\xc3\xbc\xc3\x9fe\nB=\xf0\x9f\x99\x82\n",
    b"A=1\nB=${A}\nC=${A}${B}x\n",
    b"A=${OUTSIDE}\nB='${OUTSIDE}'\nC=\"${OUTSIDE}\"\n",
    b"A=${NOPE}\nB=x${NOPE:-d}y\nC=${NOPE:-}\n",
    b"A=${OUTSIDE:-d}\nB=${A:-e}\nC=${EMPTY:-f}\n",
    b"OUTSIDE=in\nA=${OUTSIDE}\n",
    b"A=$OUTSIDE ${OUTSIDE ${OUTSIDE:x} ${} ${:-y}\n",
    b"A=${B}\nB=2\nC=${A}${B}\n",
    b"A=1\nA=2\nB=${A}\nA=3\n",
    b"A=${a${OUTSIDE}}\nB=\\${OUTSIDE}\nC=$${OUTSIDE}\n",
    b"A_API_KEY=sk\xe2\x80\x8b-\xe2\x80\x91x\nB_TOKEN=\xc3\xa9\nC=\xc3\xa9\n",
    b"A_API_KEY=${A}\xe2\x80\x8b\nA=1\n",
    b"A=\"x\" y\nB=2\n",
    b"A = 'x'\nB: 2\nC=3\n",
    b"A=a=b==c\nB==\n",
    b"A=`x`\nB=\\n\nC=\\\\\n",
    b"A=1;B=2\nC=3\n",
    b"A=\ttab\t\nB=x\t#y\n",
];

fn files_mean_the_same_to_either(version: Version) {
    let mut world = World::empty(version);
    world.variables = vec![("OUTSIDE", "out".into()), ("EMPTY", PathBuf::new())];
    fs::create_dir(world.root("")).unwrap();
    for (content, theirs) in FILES.iter().zip(as_they_read_them(&world)) {
        fs::write(world.root(".env"), content).unwrap();
        let ours: Map<String, Value> = NAMES
            .iter()
            .map(|name| ((*name).to_owned(), as_we_read_it(&world, name)))
            .collect();
        let file = String::from_utf8_lossy(content);
        assert_eq!(Value::Object(ours), theirs, "{file:?}");
    }
}

fn as_they_read_them(world: &World) -> Vec<Value> {
    let files: Vec<String> = (0..FILES.len())
        .map(|index| {
            let file = world.home().join(format!("{index}.env"));
            fs::write(&file, FILES[index]).unwrap();
            file.display().to_string()
        })
        .collect();
    let names = NAMES.join(",");
    let args: Vec<&str> = std::iter::once(names.as_str())
        .chain(files.iter().map(String::as_str))
        .collect();
    let mut read: Vec<Value> = serde_json::from_str(&world.python(READER, &args)).unwrap();
    for values in &mut read {
        // Where both set a variable, the environment wins here and the file there; that is
        // documented.
        values["OUTSIDE"] = Value::from("out");
        // A variable that is empty counts as unset here.
        for (_, value) in values.as_object_mut().unwrap() {
            if value.as_str() == Some("") {
                *value = Value::Null;
            }
        }
    }
    read
}

fn as_we_read_it(world: &World, name: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_hermes"))
        .args(["config", "get", name, "--json"])
        .env_clear()
        .env("HOME", world.home())
        .envs(world.variables.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => serde_json::from_slice(&output.stdout).unwrap(),
        _ => Value::Null,
    }
}
