import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, opendir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isBks } from '../../formats/java/bks.js';
import { isJavaKeyStore } from '../../formats/java/key-store.js';

/** Maximum size of a scanned file in bytes. Larger files are not configuration files, source code or key stores. */
const MAX_BYTES = 8 * 1024 * 1024;
const HEAD_BYTES = 4096;
/** Maximum time in milliseconds to read one file, which may be on a file system that does not respond. */
const READ_MS = 30_000;
/** Maximum number of entries that are read from one directory, because any account can fill its own directories. */
const MAX_ENTRIES = 200_000;
/** Directories of version control systems, package managers and the kernel, which are not scanned. */
const EXCLUDED = ['.git', '.hg', '.svn', 'node_modules', '__pycache__', '.venv'];
const NEVER = new Set(['/proc', '/sys', '/dev', '/run']);

export interface TreeOptions {
  /** Names of files and directories, or full paths, to exclude. */
  readonly exclude: readonly string[];
  /** Called for each path that cannot be read. */
  readonly onFault: (path: string, reason: string) => void;
}

/** filesUnder yields the regular files under a path, sorted by name. Symbolic links are not followed, except for the path itself. */
export async function* filesUnder(path: string, options: TreeOptions): AsyncGenerator<string> {
  const root = await realpath(path);
  const status = await lstat(root);
  if (status.isFile()) yield root;
  else if (status.isDirectory()) yield* directory(root, options);
}

async function* directory(path: string, options: TreeOptions): AsyncGenerator<string> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(path, { bufferSize: 1024 })) {
      if (entries.length < MAX_ENTRIES) entries.push(entry);
      else {
        options.onFault(path, `more than ${MAX_ENTRIES} entries`);
        break;
      }
    }
  } catch (error) {
    return options.onFault(path, unreadableReasonOf(error));
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const child = join(path, entry.name);
    if (EXCLUDED.includes(entry.name) || NEVER.has(child) || options.exclude.some((one) => one === entry.name || one === child)) continue; // prettier-ignore
    if (entry.isDirectory()) yield* directory(child, options);
    else if (entry.isFile()) yield child;
  }
}

/** Candidate is a file that may contain findings. */
export interface Candidate {
  readonly bytes: Buffer;
  /** User ID of the account that owns the file. */
  readonly uid: number;
}

/**
 * Flags O_NONBLOCK and O_NOFOLLOW are set because an account can replace its file with a FIFO or a link after the directory was read. Without O_NONBLOCK,
 * opening a FIFO would block until another process opens the FIFO for writing. Both flags are undefined on Windows.
 */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Reads a file that may contain findings: text, DER or a key store. Returns undefined for programs, images, files that are too large, and paths that are not
 * regular files. Throws an Error with the code ETIMEDOUT if the file cannot be read within READ_MS.
 */
export async function readCandidate(path: string): Promise<Candidate | undefined> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), READ_MS);
  try {
    return await Promise.race([candidateAt(path), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function candidateAt(path: string): Promise<Candidate | undefined> {
  const file = await open(path, OPEN_FLAGS);
  try {
    const status = await file.stat();
    const { size, uid } = status;
    if (!status.isFile() || size < 16 || size > MAX_BYTES) return undefined;
    const head = await bytesOf(file, Math.min(size, HEAD_BYTES));
    const isKeyStore = isJavaKeyStore(head) || isBks(head);
    if (head[0] !== 0x30 && !isKeyStore && head.includes(0)) return undefined;
    return { bytes: size <= HEAD_BYTES ? head : await bytesOf(file, size), uid };
  } finally {
    await file.close();
  }
}

/** Reads the first `size` bytes, even if the file grows in the meantime. */
async function bytesOf(file: FileHandle, size: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
  return buffer.subarray(0, bytesRead);
}

export function unreadableReasonOf(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : 'unknown';
}
