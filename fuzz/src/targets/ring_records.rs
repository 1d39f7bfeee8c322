//! Messages of the kernel programs' rings, each with its length before it; the highest bit of the length chooses the
//! ring.

use activebench_model::event::KernelClass;
use activebench_probe::fuzzing::{Message, observe};

use super::Target;

const PAYLOAD: u16 = 0x8000;

pub(crate) fn target() -> Target {
    Target::new(
        "ring-records",
        |_| Box::new(|input| assert!(observe(&messages(input)).is_ok(), "there is memory")),
        |_| {
            KernelClass::ALL
                .iter()
                .map(|class| {
                    let number = *class as u32;
                    let mut message = [number.to_le_bytes(), 2_u32.to_le_bytes()].concat();
                    // Codes, times and sizes that records can have.
                    message.extend((0..600_u32).map(|place| [7, 1, 0, 0, 0, 0, 0, 0][place as usize % 8]));
                    if *class == KernelClass::Payload {
                        message.resize(5000, 1);
                    }
                    let bit = if *class == KernelClass::Payload { PAYLOAD } else { 0 };
                    let length = message.len() as u16 | bit;
                    (class.name().to_owned(), [length.to_le_bytes().to_vec(), message].concat())
                })
                .collect()
        },
    )
}

fn messages(mut input: &[u8]) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk::<2>() {
        let length = u16::from_le_bytes(*length);
        let (message, after) = rest.split_at(usize::from(length & !PAYLOAD).min(rest.len()));
        messages.push(if length & PAYLOAD == 0 { Message::Event(message) } else { Message::Payload(message) });
        input = after;
    }
    messages
}
