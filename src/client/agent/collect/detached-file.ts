import { basename } from 'node:path';
import { base64Bytes } from '../../../formats/encoding/base64.js';
import { EXTENSION, fileHashOf, type HashProgress, TOKEN_EXTENSION } from '../../api/files.js';
import { FileState } from '../../api/file-state.js';
import { OutputFile } from '../../api/output-file.js';
import type { JointOrder, JointResult } from './noted-orders.js';

export interface DetachedSettings {
  readonly algorithm: string;
  readonly format: string;
  readonly scheme?: string | undefined;
  readonly timestamp: boolean;
  /** Path of the signature. Default: next to the file. */
  readonly out?: string | undefined;
  readonly progress?: HashProgress | undefined;
}

/** DetachedFile is a file to be signed with a detached signature. It contains the digest of the file when it was read, and the output paths. */
export class DetachedFile {
  private constructor(
    readonly facts: Omit<JointOrder, 'key'>,
    private readonly before: FileState,
    private readonly output: OutputFile,
    private readonly token: OutputFile,
  ) {}

  /** Hashes the file, and checks that the signature can be written before any approval is requested. */
  static async read(file: string, settings: DetachedSettings): Promise<DetachedFile> {
    const { algorithm, format, scheme, timestamp, out, progress } = settings;
    const beside = `${file}${EXTENSION[format] ?? '.sig'}`;
    const output = await OutputFile.reserveBeside(out, beside);
    const token = await OutputFile.reserveBeside(undefined, `${out ?? beside}${TOKEN_EXTENSION}`);
    const before = await FileState.of(file);
    const digest = base64Bytes(await fileHashOf(file, algorithm, progress));
    const facts = { digest, algorithm, format, scheme, timestamp, fileName: basename(file) };
    return new DetachedFile(facts, before, output, token);
  }

  /** Writes the signature, and the timestamp if the signature format cannot contain timestamps. Returns the paths. Throws if the file has changed. */
  async write(result: JointResult): Promise<string[]> {
    if (result.kind !== 'signed') throw new Error('only signatures can be written');
    const { signature, timestamp, requestId } = result;
    const { algorithm, digest, format = 'raw' } = this.facts;
    const { path } = this.before;
    await this.before.assertCurrent(requestId, async () =>
      base64Bytes(await fileHashOf(path, algorithm)).equals(digest),
    );
    await this.output.write(signature, { requestId });
    if (timestamp === undefined || (format !== 'raw' && format !== 'jws')) return [this.output.path];
    await this.token.write(timestamp, { requestId });
    return [this.output.path, this.token.path];
  }
}
