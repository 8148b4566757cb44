//! Memory that a process that runs for months gives back while it rests.

/// Bytes from which on a block of memory is mapped by itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK: std::ffi::c_int = 64 << 10;
/// Bytes that are free at the end of the pool and stay there for the next piece of work. By default
/// the allocator gives back all but 128 kB at once, and the next request has them cleared again, page
/// by page. A process that rests gives them back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_FOR_NEXT: std::ffi::c_int = 8 << 20;

/// Gives back what nothing needs at the moment: blocks of the allocator that are free, and pages of
/// the program and its libraries, which the kernel keeps in its cache and maps again when they are
/// used. The start of a program alone touches most of its code, and would be counted for ever.
pub fn give_back_idle_memory() {
    #[cfg(target_os = "linux")]
    linux::unmap_program();
    give_back_freed_memory();
}

/// Gives back the blocks of the allocator that are free, which that of glibc does not do by itself.
pub fn give_back_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux::trim_allocator();
}

/// Keeps the memory of a process with many short-lived threads small: they share one pool. By default
/// the allocator of glibc makes eight for each processor, and gives them to threads in turn. Then each
/// keeps what it held in its worst moment, and those moments come one by one, for hours, while all of
/// them together never need more. Blocks that are large stay out of the pool: between the small ones
/// that outlive them they leave holes, and by default the allocator moves the limit up to the largest
/// that was ever freed. Called before the first thread is started.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe call for it")
)]
pub fn share_memory_pool() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets numbers of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_FOR_NEXT);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{c_int, c_void};

    /// Unmaps what was never written to: code and constants.
    #[expect(unsafe_code, reason = "the loader has no safe interface")]
    pub(super) fn unmap_program() {
        // SAFETY: the callback keeps to what the loader promises.
        unsafe {
            libc::dl_iterate_phdr(Some(unmap_object), std::ptr::null_mut());
        }
    }

    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "the allocator has no safe interface")]
    pub(super) fn trim_allocator() {
        // SAFETY: takes a number.
        unsafe {
            libc::malloc_trim(0);
        }
    }

    /// Unmaps one object: the program, a library.
    #[expect(unsafe_code, reason = "reads the tables of the loader")]
    unsafe extern "C" fn unmap_object(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        _data: *mut c_void,
    ) -> c_int {
        let page = rustix::param::page_size();
        // SAFETY: the loader passes a table that is valid during the call, with as many entries as it
        // says.
        let (base, entries) = unsafe {
            let object = &*object;
            let count = usize::from(object.dlpi_phnum);
            let entries: &[libc::Elf64_Phdr] = if object.dlpi_phdr.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(object.dlpi_phdr, count)
            };
            (object.dlpi_addr, entries)
        };
        for entry in entries {
            // What can be written has been: the loader has put addresses there.
            if entry.p_type != libc::PT_LOAD || entry.p_flags & libc::PF_W != 0 {
                continue;
            }
            let (Ok(begin), Ok(length)) = (
                usize::try_from(base.wrapping_add(entry.p_vaddr)),
                usize::try_from(entry.p_memsz),
            ) else {
                continue;
            };
            let first = begin - begin % page;
            let length = begin + length - first;
            // SAFETY: the pages belong to a file and were never written to, so that the kernel has
            // the same content for the next access. Fails for what is no file, which stays as it is.
            unsafe {
                libc::madvise(
                    std::ptr::without_provenance_mut(first),
                    length,
                    libc::MADV_DONTNEED,
                );
            }
        }
        0
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "tests read files directly")]
mod tests {
    use super::*;

    /// Kilobytes of files that are mapped.
    fn mapped() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssFile:"));
        let number = line.unwrap().split_whitespace().next().unwrap();
        number.parse().unwrap()
    }

    #[test]
    fn pages_of_the_program_are_given_back_and_come_again() {
        let table: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
        let before = mapped();
        give_back_idle_memory();
        let after = mapped();
        assert!(after < before / 2, "{before} kB, then {after} kB");
        // Code that ran before runs again, with the constants it had.
        let again: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
        assert_eq!(table, again);
    }
}
