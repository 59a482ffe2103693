//! Owns how an image becomes one that every vendor takes: upright, of a size and format that they know,
//! and sound to its end. Must not know files.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult, Limits};

use super::Sent;

/// Width and height of what is sent at most, in pixels: with many images in a request vendors take no more.
const MAX_SIDE: u32 = 2_000;
/// Bytes of what is sent at most: 5 MB as base64.
const MAX_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;
/// Memory for one image while it is decoded, in bytes.
const MAX_MEMORY: u64 = 512 * 1024 * 1024;
const QUALITY: u8 = 85;

/// The image as it is sent. It is decoded whole in any case: only so it is known to be sound. Bytes that
/// vendors take as they are stay as they are.
pub(super) fn fit(bytes: Vec<u8>, format: ImageFormat) -> Result<Sent, String> {
    let (mut picture, orientation) = decode(&bytes, format).map_err(|fault| match fault {
        ImageError::Limits(_) => "it needs too much memory. Make it smaller first".to_owned(),
        fault => fault.to_string(),
    })?;
    picture.apply_orientation(orientation);
    let original = (picture.width(), picture.height());
    if original.0.min(original.1) == 0 {
        return Err("it has no pixels".to_owned());
    }
    let stays = orientation == Orientation::NoTransforms
        && original.0.max(original.1) <= MAX_SIDE
        && bytes.len() <= MAX_BYTES
        && format != ImageFormat::Bmp
        && is_whole(&bytes, format);
    if stays {
        return Ok(Sent { media_type: format.to_mime_type(), bytes, size: original, original });
    }
    if original.0.max(original.1) > MAX_SIDE {
        picture = picture.resize(MAX_SIDE, MAX_SIDE, FilterType::Triangle);
    }
    loop {
        let (format, bytes) = encode(&picture, format).map_err(|fault| fault.to_string())?;
        let size = (picture.width(), picture.height());
        if bytes.len() <= MAX_BYTES || size.0.max(size.1) <= 1 {
            return Ok(Sent { media_type: format.to_mime_type(), bytes, size, original });
        }
        picture = picture.resize(size.0.div_ceil(2), size.1.div_ceil(2), FilterType::Triangle);
    }
}

fn decode(bytes: &[u8], format: ImageFormat) -> ImageResult<(DynamicImage, Orientation)> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    limits.reserve(decoder.total_bytes())?;
    // A bad orientation is no reason to show nothing.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder)?, orientation))
}

/// A JPEG that was cut decodes, in grey from the cut on; vendors refuse it.
fn is_whole(bytes: &[u8], format: ImageFormat) -> bool {
    format != ImageFormat::Jpeg || bytes.windows(2).rev().take(64).any(|marker| marker == [0xff, 0xd9])
}

/// A photograph stays one; everything else keeps its pixels, unless that is too much.
fn encode(picture: &DynamicImage, from: ImageFormat) -> ImageResult<(ImageFormat, Vec<u8>)> {
    if from != ImageFormat::Jpeg {
        let mut bytes = Cursor::new(Vec::new());
        let plain = match picture.color().has_alpha() {
            true => DynamicImage::from(picture.to_rgba8()),
            false => DynamicImage::from(picture.to_rgb8()),
        };
        plain.write_to(&mut bytes, ImageFormat::Png)?;
        if bytes.get_ref().len() <= MAX_BYTES {
            return Ok((ImageFormat::Png, bytes.into_inner()));
        }
    }
    let mut bytes = Vec::new();
    picture.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY))?;
    Ok((ImageFormat::Jpeg, bytes))
}
