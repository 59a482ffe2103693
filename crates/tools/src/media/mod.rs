//! Owns images as a tool's result: which files are images, and what the model is sent of them.
//! Must not know tools.
//!
//! A file is an image if its first bytes say so, whatever its name is. What a vendor would refuse must
//! never become a result: it would stand in the history and make every later request fail.

mod fit;

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use host::files::read_whole;
use image::ImageFormat;
use kernel::{ResultContent, ToolOutput};
use serde_json::json;

/// Files that are larger are not looked into, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// As many bytes of a file tell what it is.
const HEAD: u64 = 32;
const FORMATS: [ImageFormat; 5] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Bmp];

/// An image as it is sent.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    media_type: &'static str,
    bytes: Vec<u8>,
    /// Width and height of what is sent, in pixels.
    size: (u32, u32),
    /// Those of the file.
    original: (u32, u32),
}

/// What Read gives for a file that is no text: an image, or why there is none. `None` where the file does
/// not say that it is an image. Blocks.
pub fn read(path: &Path) -> Option<ToolOutput> {
    let head = read_whole(path, HEAD).ok()?.bytes;
    let format = image::guess_format(&head).ok().filter(|format| FORMATS.contains(format))?;
    let name = format.to_mime_type();
    let broken = |fault: &str| {
        let text = format!("{} says that it is an image ({name}), but {fault}", path.display());
        Some(ToolOutput::error(text))
    };
    let file = match read_whole(path, MAX_FILE) {
        Ok(file) => file,
        Err(fault) => return Some(ToolOutput::error(fault)),
    };
    if file.size > MAX_FILE {
        return broken(&format!("it has {} bytes; at most {MAX_FILE} are read. Make it smaller first", file.size));
    }
    let size = file.bytes.len();
    match fit::fit(file.bytes, format) {
        Ok(sent) => Some(show(path, size, &sent)),
        Err(fault) => broken(&format!("it cannot be decoded: {fault}")),
    }
}

fn show(path: &Path, size: usize, sent: &Sent) -> ToolOutput {
    let Sent { media_type, bytes, size: (width, height), original } = sent;
    let data = BASE64_STANDARD.encode(bytes);
    let mut blocks =
        vec![json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})];
    if (*width, *height) != *original {
        // Where something is in the picture is told in pixels of what was sent.
        let (from_width, from_height) = original;
        let text = format!("[shown with {width}×{height} pixels; the file has {from_width}×{from_height}]");
        blocks.push(json!({"type": "text", "text": text}));
    }
    let detail = json!({
        "type": "image",
        "file": {
            "filePath": path,
            "type": media_type,
            "originalSize": size,
            "dimensions": {"originalWidth": original.0, "originalHeight": original.1,
                "displayWidth": width, "displayHeight": height},
        },
    });
    ToolOutput { content: ResultContent::Blocks(blocks), is_error: false, detail }
}
