import { constants } from 'node:fs';
import { access, chmod, lstat, mkdtemp, open, realpath, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ClientError, EXIT, usageError } from './exit-codes.js';
import { FileState } from './file-state.js';

/** Reasons for which a file cannot be written, by the code of the system; `directory` is where it was to be written. */
const REASONS: Readonly<Record<string, (directory: string) => string>> = {
  ENOSPC: (directory) => `no space left in ${directory} (ENOSPC)`,
  EDQUOT: (directory) => `the disk quota in ${directory} is used up (EDQUOT)`,
  EROFS: (directory) => `${directory} is on a read-only file system (EROFS)`,
  EACCES: (directory) => `no permission to write in ${directory} (EACCES)`,
  EPERM: (directory) => `no permission to write in ${directory} (EPERM)`,
  ENOENT: (directory) => `${directory} does not exist (ENOENT)`,
  ENOTDIR: (directory) => `${directory} is not a directory (ENOTDIR)`,
  EISDIR: () => 'it is a directory (EISDIR)',
  ENAMETOOLONG: () => 'the name is too long (ENAMETOOLONG)',
};

/** OutputFile is a path that a result will be written to. The path holds either what it held before or the whole result, never a part. */
export class OutputFile {
  private constructor(
    readonly path: string,
    private readonly before: FileState,
  ) {}

  /** Checks that the path can be written, before anybody is asked to approve anything, and remembers what it holds. */
  static async reserve(path: string): Promise<OutputFile> {
    const before = await FileState.of(path);
    if (before.isDirectory) throw usageError(`${path} is a directory. Name a file to write.`);
    const isReplaced = !before.exists || before.isRegular;
    if (isReplaced) await writing(path, async () => access(dirname(await targetOf(path)), constants.W_OK));
    return new OutputFile(path, before);
  }

  /**
   * Reserves `given`, or `derived` if the caller named no path. A derived path must not be a symbolic link, because the author of the files being signed
   * could have planted a link that leads elsewhere.
   */
  static async reserveBeside(given: string | undefined, derived: string): Promise<OutputFile> {
    const status = given === undefined ? await lstat(derived).catch(() => undefined) : undefined;
    if (status?.isSymbolicLink() !== true) return OutputFile.reserve(given ?? derived);
    throw usageError(
      `${derived} is a symbolic link, so nothing is written there. Remove it, or give another file with --out.`,
    );
  }

  /** `requestId` names the signing request in the error if the path changed since it was reserved. */
  async write(content: Content, { mode, requestId }: WriteOptions = {}): Promise<void> {
    if (this.before.exists && !this.before.isRegular) return this.writeInto(content);
    await this.replace(
      async (fresh) => {
        const file = await open(fresh, 'wx', mode ?? 0o666);
        try {
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
      },
      { mode, requestId },
    );
  }

  /** Replaces the path with the file that `make` writes at the given place beside it. */
  async replace(make: (fresh: string) => Promise<void>, options: WriteOptions = {}): Promise<void> {
    const target = await targetOf(this.path);
    await writing(this.path, async () => {
      const place = await mkdtemp(join(dirname(target), '.sealwright-'));
      try {
        const fresh = join(place, basename(target));
        await make(fresh);
        await this.publish(fresh, options);
      } finally {
        await rm(place, { recursive: true, force: true });
      }
    });
  }

  /** Moves a finished file on the same file system to the path. */
  async publish(fresh: string, { mode, requestId, hasSameContent }: WriteOptions = {}): Promise<void> {
    if (!(await this.before.isCurrent(hasSameContent))) {
      const request = requestId === undefined ? '' : ` The signature is that of request ${requestId}.`;
      throw new ClientError(EXIT.failed, `${this.path} was changed by another program, so it was not overwritten.${request} Write to another file with --out.`); // prettier-ignore
    }
    const target = await targetOf(this.path);
    if (mode === undefined && this.before.exists) await chmod(fresh, (await stat(target)).mode & 0o777);
    await rename(fresh, target);
  }

  /** Pipes and devices, such as /dev/stdout, are not replaced. */
  private writeInto(content: Content): Promise<void> {
    return writing(this.path, async () => {
      const file = await open(this.path, 'w');
      try {
        await file.writeFile(content);
      } finally {
        await file.close();
      }
    });
  }
}

type Content = Buffer | string | Iterable<Buffer>;

interface WriteOptions {
  /** Permissions of the file, less the umask. Without it an existing file keeps its own, and a new one gets 0o666. */
  readonly mode?: number | undefined;
  readonly requestId?: string | undefined;
  /** Whether the path still holds the content that it held, if its times say otherwise. */
  readonly hasSameContent?: (() => Promise<boolean>) | undefined;
}

/** A link goes on to point to the file. */
export function targetOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** Does work that writes at a path. Errors of the system become a ClientError that says what to do about them. */
export async function writing<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason = REASONS[error.code ?? '']?.(directoryOf(error, path)) ?? error.message;
    throw new ClientError(EXIT.failed, `${path} cannot be written: ${reason}.`);
  }
}

/** `access` is asked about the directory itself. */
function directoryOf({ path, syscall }: NodeJS.ErrnoException, output: string): string {
  return path !== undefined && syscall === 'access' ? path : dirname(path ?? output);
}

/** Throws if a directory has less space left than `bytes`. */
export async function assertSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize >= bytes) return;
  throw new ClientError(EXIT.failed, `No space left in ${directory}: ${bytes} bytes are needed, ${bavail * bsize} are free (ENOSPC).`); // prettier-ignore
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/** The failure of the program for an error of the system that no command expected. */
export function systemFailure(error: NodeJS.ErrnoException): ClientError {
  const reason = error.path === undefined ? undefined : REASONS[error.code ?? '']?.(dirname(error.path));
  return new ClientError(EXIT.failed, reason === undefined ? `${error.message}.` : `${error.path}: ${reason}.`);
}
