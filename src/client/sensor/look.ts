import { basename } from 'node:path';
import { configuration } from './detectors/configuration.js';
import { derFiles, pemDetector } from './detectors/pem-and-der.js';
import type { Detector } from './detectors/detector.js';
import { bks, javaKeyStore, pkcs12 } from './detectors/key-stores.js';
import { sourceCalls } from './detectors/source-rules.js';
import { sshKeys } from './detectors/ssh.js';
import { endpointOf } from './endpoints/endpoint.js';
import { sshFindings } from './endpoints/ssh.js';
import { tlsFindings } from './endpoints/tls.js';
import type { SensorFinding } from './model/finding.js';
import { filesUnder, readCandidate, unreadableReasonOf } from './tree.js';

const DETECTORS: readonly Detector[] = [
  pemDetector,
  derFiles,
  pkcs12,
  javaKeyStore,
  bks,
  sshKeys,
  configuration,
  sourceCalls,
];

export interface LookOptions {
  /** Machine or checkout that contains the paths. */
  readonly source: string;
  readonly exclude: readonly string[];
  readonly storePasswords: readonly string[];
  readonly onFault: (where: string, reason: string) => void;
}

/** lookAtTree yields the findings in a file tree, file by file. Files that cannot be read are reported as faults. */
export async function* lookAtTree(path: string, options: LookOptions): AsyncGenerator<SensorFinding> {
  const { source, storePasswords, onFault } = options;
  for await (const file of filesUnder(path, options)) {
    try {
      const bytes = await readCandidate(file);
      if (bytes === undefined) continue;
      const seen = {
        location: `${source}:${file}`,
        name: basename(file),
        bytes,
        text: bytes.toString('latin1'),
        storePasswords,
      };
      for (const detector of DETECTORS) yield* detector(seen);
    } catch (error) {
      onFault(file, unreadableReasonOf(error));
    }
  }
}

/** Returns what an endpoint reveals without authentication. Throws if the endpoint does not respond. */
export async function lookAtEndpoint(text: string): Promise<SensorFinding[]> {
  const endpoint = endpointOf(text);
  return endpoint.kind === 'ssh' ? sshFindings(endpoint) : tlsFindings(endpoint);
}
