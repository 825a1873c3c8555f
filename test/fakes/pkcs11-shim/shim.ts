import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface JournalEntry {
  /** Nanoseconds since 1970. */
  readonly time: bigint;
  /** `ask`: C_Sign is called; `sign`: C_Sign has returned. An `ask` without a `sign` is a call during which the process died. */
  readonly kind: 'init' | 'login' | 'logout' | 'finalize' | 'ask' | 'sign' | 'destroy';
  /** For `ask` and `sign`, the data passed to C_Sign; for `destroy`, the class of the object (03: a private key); for `init`, the flags. */
  readonly hex: string;
  /** CKR_ code returned to the caller. */
  readonly result: number;
  /** CKA_ID of the key in hexadecimal for `ask`, `sign` and `destroy`; otherwise empty. */
  readonly key: string;
}

export interface Shim {
  /** Path of the module, for SVC_PKCS11_LIBRARY. */
  readonly library: string;
  /** Environment that the key process needs. */
  readonly environment: { readonly SHIM_MODULE: string; readonly SHIM_JOURNAL: string; readonly SHIM_CONTROL: string };
  /** Sets the fault (the syntax is described in pkcs11-shim.c). An empty line clears the fault. */
  fault(line: string): void;
  journal(): JournalEntry[];
}

const SOURCE = fileURLToPath(new URL('./pkcs11-shim.c', import.meta.url));
const HEADERS = fileURLToPath(new URL('../../../node_modules/pkcs11js/includes/pkcs11', import.meta.url));

/** Compiles the shim into `directory`, which also holds its journal and control file. */
export function buildShim(directory: string, module = '/usr/lib/softhsm/libsofthsm2.so'): Shim {
  const library = join(directory, 'pkcs11-shim.so');
  const journal = join(directory, 'shim.journal');
  const control = join(directory, 'shim.control');
  execFileSync('gcc', [
    '-shared',
    '-fPIC',
    '-O2',
    '-Wall',
    '-fvisibility=hidden',
    `-I${HEADERS}`,
    '-o',
    library,
    SOURCE,
  ]);
  return {
    library,
    environment: { SHIM_MODULE: module, SHIM_JOURNAL: journal, SHIM_CONTROL: control },
    fault(line) {
      // Replaces the file atomically, so that no process reads a partial line.
      writeFileSync(`${control}.new`, line);
      renameSync(`${control}.new`, control);
    },
    journal: () =>
      existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n').filter(Boolean).map(entryOf) : [],
  };
}

function entryOf(line: string): JournalEntry {
  const [time = '', kind = '', hex = '', result = '', key = ''] = line.split(' ');
  return {
    time: BigInt(time),
    kind: kind as JournalEntry['kind'],
    hex: hex === '-' ? '' : hex,
    result: Number(result),
    key: key === '-' ? '' : key,
  };
}
