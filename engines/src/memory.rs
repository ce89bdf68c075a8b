//! Counts the bytes that Rust code holds, for each thread.
//!
//! Grammars come from programs that may mean harm, and the library that runs them has no limit of
//! memory. So a call that could grow one compares this thread's count before and after. The count
//! costs about a nanosecond an allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Without a destructor, so that it can be read while a thread ends.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static HELD_MAX: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn add(bytes: isize) {
    HELD.with(|held| {
        held.set(held.get() + bytes);
        if bytes > 0 {
            HELD_MAX.with(|most| most.set(most.get().max(held.get())));
        }
    });
}

// Every function hands its arguments to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        System.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        System.alloc_zeroed(layout)
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        System.dealloc(pointer, layout)
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as isize - layout.size() as isize);
        System.realloc(pointer, layout, size)
    }
}

/// The bytes that this thread has allocated less those that it has freed. Negative in a thread that
/// frees memory of another thread.
pub fn held_bytes() -> isize {
    HELD.with(Cell::get)
}

/// The largest `held_bytes` that this thread has seen.
pub fn peak_bytes() -> isize {
    HELD_MAX.with(Cell::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_and_its_peak_are_counted_for_each_thread() {
        std::thread::spawn(|| {
            let before = held_bytes();
            let kept = vec![1u8; 1 << 20];
            drop(vec![2u8; 3 << 20]);
            std::thread::spawn(|| drop(vec![3u8; 64 << 20])).join().unwrap();
            let held = held_bytes() - before;
            assert!((1 << 20..2 << 20).contains(&held), "{held}");
            let peak = peak_bytes() - before;
            assert!((4 << 20..5 << 20).contains(&peak), "{peak}");
            drop(kept);
            assert!(held_bytes() - before < 1 << 20);
        })
        .join()
        .unwrap();
    }
}
