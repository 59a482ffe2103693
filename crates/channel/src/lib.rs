//! How does an item reach a consumer that may be slow, or gone? A bounded queue in which the producer
//! waits for room, pieces of a text merge instead, and a consumer that goes away is noticed at once.
//! Must not know what the items are.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use tokio::sync::Notify;

/// An item that may become part of an earlier one while both wait.
pub trait Merge: Sized {
    /// Offers a later item to this one.
    fn merge(&mut self, later: Self) -> Fit<Self>;
}

/// What became of a later item.
#[derive(Debug, PartialEq, Eq)]
pub enum Fit<T> {
    /// It is part of the earlier one now.
    Merged,
    /// It has nothing to do with the earlier one; one before it may take it.
    Pass(T),
    /// It must not come before the earlier one.
    Stop(T),
}

impl<T> Fit<T> {
    /// The same with another later item.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fit<U> {
        match self {
            Self::Merged => Fit::Merged,
            Self::Pass(item) => Fit::Pass(change(item)),
            Self::Stop(item) => Fit::Stop(change(item)),
        }
    }
}

struct Queue<T> {
    waiting: VecDeque<T>,
    waker: Option<Waker>,
    /// The producer has said everything.
    closed: bool,
    /// The consumer is gone.
    gone: bool,
}

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    room: Notify,
    capacity: usize,
    when_gone: Box<dyn Fn() + Send + Sync>,
}

impl<T> Shared<T> {
    /// What the lock guards is whole even if somebody panicked while holding it.
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The producer's end.
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The consumer's end: a stream that ends when the producer closes it.
pub struct Receiver<T>(Arc<Shared<T>>);

/// A queue in which `capacity` items may wait. `when_gone` is called once if the consumer goes away
/// before the end.
pub fn channel<T: Merge>(capacity: usize, when_gone: impl Fn() + Send + Sync + 'static) -> (Sender<T>, Receiver<T>) {
    let queue = Queue { waiting: VecDeque::new(), waker: None, closed: false, gone: false };
    let shared = Shared { queue: Mutex::new(queue), room: Notify::new(), capacity, when_gone: Box::new(when_gone) };
    let shared = Arc::new(shared);
    (Sender(shared.clone()), Receiver(shared))
}

impl<T: Merge> Sender<T> {
    /// Puts an item into the queue, whatever waits there.
    pub fn push(&self, item: T) {
        let mut queue = self.0.lock();
        if !queue.gone && !queue.closed {
            queue.waiting.push_back(item);
        }
        wake(&mut queue);
    }

    /// The same, but where the queue is full the item becomes part of an earlier one if it can.
    pub fn push_merging(&self, item: T) {
        let mut queue = self.0.lock();
        let full = queue.waiting.len() >= self.0.capacity;
        let mut item = Some(item);
        for earlier in queue.waiting.iter_mut().rev().take_while(|_| full) {
            let Some(later) = item.take() else { return };
            match earlier.merge(later) {
                Fit::Merged => return,
                Fit::Pass(later) => item = Some(later),
                Fit::Stop(later) => {
                    item = Some(later);
                    break;
                }
            }
        }
        drop(queue);
        if let Some(item) = item {
            self.push(item);
        }
    }

    /// Waits until there is room, or nobody to make it for.
    pub async fn room(&self) {
        loop {
            let room = self.0.room.notified();
            {
                let queue = self.0.lock();
                if queue.waiting.len() < self.0.capacity || queue.gone {
                    return;
                }
            }
            room.await;
        }
    }

    /// Nothing more will be said.
    pub fn close(&self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        wake(&mut queue);
    }
}

fn wake<T>(queue: &mut Queue<T>) {
    if let Some(waker) = queue.waker.take() {
        waker.wake();
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut queue = self.0.lock();
        if let Some(item) = queue.waiting.pop_front() {
            self.0.room.notify_one();
            return Poll::Ready(Some(item));
        }
        if queue.closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let ended = {
            let mut queue = self.0.lock();
            queue.gone = true;
            queue.waiting.clear();
            queue.closed
        };
        if !ended {
            (self.0.when_gone)();
        }
        self.0.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    /// Texts of one letter merge, and pass others in lower case.
    impl Merge for String {
        fn merge(&mut self, later: Self) -> Fit<Self> {
            match (self.chars().next(), later.chars().next()) {
                (mine, other) if mine == other => {
                    self.push_str(&later);
                    Fit::Merged
                }
                (Some('A'..='Z'), _) => Fit::Stop(later),
                _ => Fit::Pass(later),
            }
        }
    }

    fn all(receiver: Receiver<String>) -> Vec<String> {
        receiver.collect().now_or_never().unwrap()
    }

    #[test]
    fn items_merge_only_where_the_queue_is_full() {
        let (sender, receiver) = channel(2, || {});
        for item in ["a", "a", "a", "b", "a", "X", "a"] {
            sender.push_merging(item.to_owned());
        }
        sender.close();
        assert_eq!(all(receiver), ["a", "aaa", "b", "X", "a"]);
    }

    #[test]
    fn a_producer_waits_for_room_and_for_nobody() {
        let (sender, mut receiver) = channel(1, || {});
        sender.push("a".to_owned());
        assert_eq!(sender.room().now_or_never(), None);
        assert_eq!(receiver.next().now_or_never(), Some(Some("a".to_owned())));
        assert_eq!(sender.room().now_or_never(), Some(()));
        sender.push("a".to_owned());
        drop(receiver);
        assert_eq!(sender.room().now_or_never(), Some(()));
    }

    #[test]
    fn a_consumer_that_goes_away_before_the_end_is_noticed() {
        for (ends, noticed) in [(false, 1), (true, 0)] {
            let count = Arc::new(Mutex::new(0));
            let counted = count.clone();
            let (sender, receiver) = channel::<String>(1, move || *counted.lock().unwrap() += 1);
            if ends {
                sender.close();
            }
            drop(receiver);
            sender.push("late".to_owned());
            assert_eq!(*count.lock().unwrap(), noticed);
        }
    }
}
