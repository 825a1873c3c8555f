import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface JournalEntry {
  /** Nanoseconds since 1970. */
  readonly time: bigint;
  /** ask: C_Sign is called; sign: it returned. An ask without a sign is a call that its process did not survive. */
  readonly kind: 'init' | 'login' | 'logout' | 'finalize' | 'ask' | 'sign' | 'destroy';
  /** ask and sign: the data that C_Sign was given; destroy: the class of the object (03: a private key); init: the flags. */
  readonly hex: string;
  /** CKR_ code that the caller got. */
  readonly result: number;
  /** ask, sign and destroy: CKA_ID of the key, hexadecimal; else empty. */
  readonly key: string;
}

export interface Shim {
  /** Path of the module, for SVC_PKCS11_LIBRARY. */
  readonly library: string;
  /** What the key process must find in its environment. */
  readonly environment: { readonly SHIM_MODULE: string; readonly SHIM_JOURNAL: string; readonly SHIM_CONTROL: string };
  /** Sets the fault (the language is described in pkcs11-shim.c); an empty line ends it. */
  fault(line: string): void;
  journal(): JournalEntry[];
}

const SOURCE = fileURLToPath(new URL('./pkcs11-shim.c', import.meta.url));
const HEADERS = fileURLToPath(new URL('../../../node_modules/pkcs11js/includes/pkcs11', import.meta.url));

/** Compiles the shim into `directory`, where its journal and its control file will be too. */
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
      // Renamed into place, so that no process ever reads half a line.
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
