//! The storage below the run's files as a picture: boxes from the file system down to the device. They are nested
//! lists, for readers who cannot see them.

use activebench_model::host::{ABOVE, Host, Layer, Target};
use activebench_model::units::Quantity;
use maud::{Markup, html};

use crate::escape::terminal as shown;
use crate::run_context;
use crate::wording::count;

/// Targets drawn; the rest is counted.
const TARGETS: usize = 8;
/// Layers of one target drawn; the rest is counted.
const LAYERS: usize = 32;
/// Further attributes of a layer; the rest is counted.
const ATTRIBUTES: usize = 40;

/// The stacks, each with the sentence that other formats print.
pub(super) fn section(host: &Host) -> Markup {
    html! {
        @for (line, target) in run_context::targets(host).iter().zip(some_or_none(host)).take(TARGETS) {
            @if let Some(target) = target {
                figure.stack {
                    figcaption { (shown(line)) }
                    (picture(target))
                }
            } @else {
                p { "Target: " (shown(line)) "." }
            }
        }
        @if host.targets.len() > TARGETS {
            p { (count(host.targets.len() - TARGETS, "further target")) " in " code { "run.json" } "." }
        }
    }
}

/// The targets. Returns one entry `None` if no target is known, like the lines of the other formats.
fn some_or_none(host: &Host) -> Vec<Option<&Target>> {
    if host.targets.is_empty() { vec![None] } else { host.targets.iter().map(Some).collect() }
}

fn picture(target: &Target) -> Markup {
    let layers = &target.layers[..target.layers.len().min(LAYERS)];
    let parents: Vec<Option<usize>> = (0..layers.len()).map(|index| parent(layers, index)).collect();
    let left_out = target.layers.len() - layers.len();
    html! {
        ul.layers {
            li {
                div.box.filesystem {
                    b { (shown(&target.fs_type)) } " " span { (shown(&target.mount_point)) }
                    @if !target.options.is_empty() { " " small { (shown(&target.options)) } }
                }
                (below(layers, &parents, None))
                @if left_out > 0 { p { (count(left_out, "further layer")) } }
            }
        }
    }
}

/// Returns the layer directly above; `None` is the file system. Layers are listed from the top.
fn parent(layers: &[Layer], index: usize) -> Option<usize> {
    match layers[index].attributes.get(ABOVE) {
        Some(above) => layers[..index].iter().position(|layer| layer.name == *above),
        None => index.checked_sub(1),
    }
}

fn below(layers: &[Layer], parents: &[Option<usize>], above: Option<usize>) -> Markup {
    let children: Vec<usize> = (0..layers.len()).filter(|index| parents[*index] == above).collect();
    if children.is_empty() {
        return html! {};
    }
    html! {
        ul.layers {
            @for index in children {
                @let layer = &layers[index];
                li {
                    (layer_box(layer))
                    @if let Some(file) = &layer.backing_file {
                        ul.layers {
                            li {
                                div.box.file { b { "backing file" } " " span { (shown(file)) } }
                                (below(layers, parents, Some(index)))
                            }
                        }
                    } @else {
                        (below(layers, parents, Some(index)))
                    }
                }
            }
        }
    }
}

fn layer_box(layer: &Layer) -> Markup {
    let mut said: Vec<String> = Vec::new();
    said.extend(layer.size_bytes.map(|bytes| Quantity::bytes(bytes).to_string()));
    said.push(format!("write cache: {}", layer.write_cache.as_deref().unwrap_or("not known")));
    said.extend(layer.loop_direct_io.map(|direct| {
        let mode = if direct { "direct" } else { "buffered" };
        format!("{mode} I/O to its backing file")
    }));
    said.extend(layer.logical_block_bytes.map(|bytes| format!("logical blocks of {}", Quantity::bytes(bytes))));
    said.extend(layer.rotational.map(|turns| if turns { "rotational" } else { "not rotational" }.to_owned()));
    let further: Vec<_> = layer.attributes.iter().filter(|(name, _)| *name != ABOVE).collect();
    html! {
        div.box {
            b { (shown(&layer.name)) } " " span { (shown(&layer.kind)) }
            " " small { (shown(&said.join("; "))) }
            @if !further.is_empty() {
                details {
                    summary { (count(further.len(), "further attribute")) }
                    ul {
                        @for (name, value) in further.iter().take(ATTRIBUTES) { li { (shown(name)) ": " (shown(value)) } }
                        @if further.len() > ATTRIBUTES { li { "the others are in " code { "run.json" } } }
                    }
                }
            }
        }
    }
}
