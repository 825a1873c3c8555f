import { type Dirent } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isBks } from '../../formats/java/bks.js';
import { isJavaKeyStore } from '../../formats/java/key-store.js';

/** Larger files are not configuration, source code or key stores. */
const MAX_BYTES = 8 * 1024 * 1024;
const HEAD_BYTES = 4096;
/** Directories of version control, packages and the kernel, which are not scanned. */
const EXCLUDED = ['.git', '.hg', '.svn', 'node_modules', '__pycache__', '.venv'];
const NEVER = new Set(['/proc', '/sys', '/dev', '/run']);

export interface TreeOptions {
  /** Names of files and directories, or full paths. */
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
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
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

/** Reads a file that may contain findings: text, DER or a key store. Returns undefined for programs, images and files that are too large. */
export async function readCandidate(path: string): Promise<Buffer | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size < 16 || size > MAX_BYTES) return undefined;
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    await file.read(head, 0, head.length, 0);
    const isKeyStore = isJavaKeyStore(head) || isBks(head);
    if (head[0] !== 0x30 && !isKeyStore && head.includes(0)) return undefined;
    return size <= HEAD_BYTES ? head : await file.readFile();
  } finally {
    await file.close();
  }
}

export function unreadableReasonOf(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : 'unknown';
}
