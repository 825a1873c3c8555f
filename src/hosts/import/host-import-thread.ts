import { parentPort, workerData } from 'node:worker_threads';
import { type ImportFormat, type ImportItem, ImportRefusal } from './import-result.js';
import { type KnownPlace, readImport } from './import-reader.js';

export interface ImportThreadOrder {
  readonly format: ImportFormat;
  readonly text: string;
  readonly known: readonly KnownPlace[];
}

/** Reply to the main thread, which receives Buffers as Uint8Array. */
export type ImportThreadReply =
  { readonly items: ImportItem[] } | { readonly refusal: Pick<ImportRefusal, 'code' | 'detail'> };

const { format, text, known } = workerData as ImportThreadOrder;

function reply(): ImportThreadReply {
  try {
    return { items: readImport(format, text, known) };
  } catch (error) {
    if (!(error instanceof ImportRefusal)) throw error;
    const { code, detail } = error;
    return { refusal: { code, detail } };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(reply());
