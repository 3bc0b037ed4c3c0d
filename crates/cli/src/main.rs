//! `haul`: copies, moves, deletes and streams file data as fast as the storage allows.

#![no_main]

haul::program!(haul::main);
