//! `Read` on images: what is sent, and what never is.

use std::io::Cursor;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageEncoder, ImageFormat, Rgb, RgbImage};
use kernel::{ResultContent, ToolOutput};
use serde_json::{Value, json};

use crate::support::{World, text};

/// Exif data that says nothing but how the camera was held.
fn exif(orientation: u8) -> Vec<u8> {
    let mut data = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    data.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    data
}

/// A picture whose left half is red and whose right half is blue.
fn picture(width: u32, height: u32) -> DynamicImage {
    let colour = |x| if x < width / 2 { Rgb([250, 0, 0]) } else { Rgb([0, 0, 250]) };
    RgbImage::from_fn(width, height, |x, _| colour(x)).into()
}

fn bytes(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

async fn read(name: &str, content: &[u8]) -> ToolOutput {
    let world = World::new();
    std::fs::write(world.root.join(name), content).unwrap();
    world.call("Read", json!({"file_path": name})).await
}

fn blocks(output: &ToolOutput) -> &[Value] {
    assert!(!output.is_error, "{}", text(output));
    let ResultContent::Blocks(blocks) = &output.content else { panic!("{}", text(output)) };
    blocks
}

/// Media type, bytes and what they decode to.
fn sent(output: &ToolOutput) -> (String, Vec<u8>, DynamicImage) {
    let block = &blocks(output)[0];
    assert_eq!((&block["type"], &block["source"]["type"]), (&json!("image"), &json!("base64")));
    let bytes = BASE64_STANDARD.decode(block["source"]["data"].as_str().unwrap()).unwrap();
    let kind = block["source"]["media_type"].as_str().unwrap().to_owned();
    let format = ImageFormat::from_mime_type(&kind).unwrap();
    assert_eq!(image::guess_format(&bytes).unwrap(), format, "the type is that of the bytes");
    let decoded = image::load_from_memory_with_format(&bytes, format).unwrap();
    (kind, bytes, decoded)
}

#[tokio::test]
async fn an_image_is_known_by_its_bytes_and_sent_as_it_is() {
    for (format, kind) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let given = bytes(&picture(40, 20), format);
        let output = read("named.txt", &given).await;
        let (media_type, bytes, _) = sent(&output);
        assert_eq!((media_type.as_str(), bytes == given, blocks(&output).len()), (kind, true, 1));
        assert_eq!(output.detail["file"]["dimensions"]["originalWidth"], 40);
    }
}

#[tokio::test]
async fn image_bad_image_9e7ad6() {
    let page = b"<html><body>Not found</body></html>";
    assert_eq!(
        read("a.png", page).await.content,
        ToolOutput::ok(format!("1\t{}", String::from_utf8_lossy(page))).content
    );
    assert_eq!(text(&read("a.png", b"").await), "The file is empty.");
    // What says that it is an image and cannot be decoded is told in words.
    let whole = bytes(&picture(300, 200), ImageFormat::Png);
    let mut spoilt = whole.clone();
    spoilt[60..90].fill(0);
    for broken in [
        &whole[..40],
        &whole[..whole.len() / 2],
        &spoilt,
        b"\x89PNG\r\n\x1a\n\0\0",
        b"GIF89a\0\0\0\0\0\0\0",
        b"BM\0\0\0\0\0\0",
    ] {
        let output = read("a.png", broken).await;
        let said = text(&output);
        assert!(output.is_error && said.contains("a.png") && said.contains("cannot be decoded"), "{said}");
    }
    // Neither is another binary file an image because of its name.
    assert!(text(&read("a.png", b"%PDF-1.7\0").await).contains("is a binary file"));
}

#[tokio::test]
async fn image_limits_165f4b() {
    let mut photo = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut photo, 95);
    encoder.set_exif_metadata(exif(6)).unwrap();
    encoder.encode_image(&picture(64, 32)).unwrap();
    let (kind, _, upright) = sent(&read("phone.jpg", &photo).await);
    assert_eq!((kind.as_str(), upright.width(), upright.height()), ("image/jpeg", 32, 64));
    // Turned by a quarter to the right, left is up.
    let upright = upright.to_rgb8();
    assert!(upright.get_pixel(16, 5).0[0] > 200 && upright.get_pixel(16, 60).0[2] > 200);

    let bitmap = bytes(&picture(10, 10), ImageFormat::Bmp);
    let (kind, _, decoded) = sent(&read("paste.bmp", &bitmap).await);
    assert_eq!((kind.as_str(), decoded.to_rgb8()), ("image/png", picture(10, 10).to_rgb8()));
}

#[tokio::test]
async fn a_large_image_is_made_smaller_and_that_is_said() {
    let output = read("wide.png", &bytes(&picture(4_001, 100), ImageFormat::Png)).await;
    let (kind, _, decoded) = sent(&output);
    assert_eq!((kind.as_str(), decoded.width(), decoded.height()), ("image/png", 2_000, 50));
    let told = json!({"type": "text", "text": "[shown with 2000×50 pixels; the file has 4001×100]"});
    assert_eq!(blocks(&output)[1..], [told]);
}

#[tokio::test]
async fn an_image_of_many_bytes_is_sent_in_fewer() {
    let mut seed = 1_u32;
    let noise = RgbImage::from_fn(1_320, 1_320, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgb([(seed >> 24) as u8, (seed >> 16) as u8, (seed >> 8) as u8])
    });
    let given = bytes(&noise.into(), ImageFormat::Png);
    assert!(given.len() > 5_000_000);
    let (kind, bytes, _) = sent(&read("noise.png", &given).await);
    assert_eq!(kind, "image/jpeg");
    assert!(bytes.len() <= 5 * 1024 * 1024 / 4 * 3, "{}", bytes.len());
}

#[tokio::test]
async fn a_photo_that_was_cut_is_sent_whole() {
    let whole = bytes(&picture(600, 400), ImageFormat::Jpeg);
    let output = read("cut.jpg", &whole[..whole.len() * 2 / 3]).await;
    // It decodes, or it is told in words; half of it is never sent.
    if !output.is_error {
        let (_, bytes, _) = sent(&output);
        assert!(bytes.ends_with(&[0xff, 0xd9]));
    }
}

#[tokio::test]
async fn a_bomb_does_not_go_off() {
    // A header that claims 60,000 × 60,000 pixels, sound up to there.
    let mut png = bytes(&picture(1, 1), ImageFormat::Png);
    png[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
    png[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
    let sum = crc(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let output = read("bomb.png", &png).await;
    assert!(output.is_error && text(&output).contains("it needs too much memory"), "{}", text(&output));
}

fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(!0_u32, |mut sum, byte| {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
        sum
    })
}
