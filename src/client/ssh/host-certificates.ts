import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readCertificateLine, type SshCertificateContent } from '../../formats/ssh/certificate-reader.js';
import { RENEWAL_NAMESPACE, renewalMessage } from '../../formats/ssh/sshsig.js';
import type { ApiClient } from '../api/api-client.js';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { OutputFile } from '../api/output-file.js';
import { readTextFile } from '../../platform/text/text-file.js';

const HOST_KEYS = '/etc/ssh';
/** Fraction of a certificate's lifetime after which the certificate is renewed. The remaining time allows for an unavailable service and for approvals. */
const DUE_AFTER = 2 / 3;

/** HostCertificate is an SSH certificate as returned by the API. */
export interface HostCertificate {
  readonly id: string;
  readonly status: string;
  readonly certificate: string;
  readonly principals: readonly string[];
  readonly validBefore: string;
  /** Time until which the host can renew the certificate with its key. Not present if the host cannot renew the certificate. */
  readonly renewableUntil?: string;
  readonly failure?: { readonly code: string; readonly detail: string };
}

/** Returns the paths of this machine's host keys that have a certificate, which is stored next to the key. */
export async function certifiedHostKeys(): Promise<string[]> {
  const files = await readdir(HOST_KEYS).catch(() => []);
  return files
    .filter((file) => /^ssh_host_[a-z0-9]+_key-cert\.pub$/.test(file))
    .map((file) => join(HOST_KEYS, file.replace(/-cert\.pub$/, '')));
}

/**
 * Returns the certificate of a key and the time when its renewal is due.
 *
 * @throws ClientError if the key has no host certificate
 */
export async function certificateOf(key: string): Promise<{ content: SshCertificateContent; line: string; due: Date }> {
  const line = (await readText(certificateFile(key))).trim();
  const content = readCertificateLine(line);
  if (content?.kind !== 'host')
    throw new ClientError(EXIT.failed, `${certificateFile(key)} is not a host certificate.`);
  const [from, until] = [content.validAfter.getTime(), content.validBefore.getTime()];
  return { content, line, due: new Date(from + DUE_AFTER * (until - from)) };
}

/** Requests the next certificate, authenticated only by the key. The returned certificate may be pending approval or have failed. */
export async function renewed(api: ApiClient, key: string): Promise<HostCertificate> {
  const { content, line } = await certificateOf(key);
  const signedAt = new Date();
  const signature = await signedBy(key, renewalMessage(content.blob, signedAt));
  const body = { certificate: line, signedAt: signedAt.toISOString(), signature };
  return (await api.call('POST', '/v1/ssh-host-renewals', { body, repeatable: true })) as HostCertificate;
}

/**
 * Writes a certificate next to its key, where ssh and sshd expect the certificate. The old certificate remains in place until the new certificate is complete.
 */
export async function keepCertificate(key: string, { certificate }: HostCertificate): Promise<string> {
  const file = certificateFile(key);
  const output = await OutputFile.reserve(file);
  await output.write(`${certificate}\n`, { mode: 0o644 });
  return file;
}

/** Returns the content of `KEY.pub`, which is a single line. */
export async function publicKeyOf(key: string): Promise<string> {
  return (await readText(`${key}.pub`)).trim();
}

/** Returns the path of a key's certificate. */
export const certificateFile = (key: string) => `${key}-cert.pub`;

async function readText(file: string): Promise<string> {
  try {
    return await readTextFile(file);
  } catch (error) {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${(error as Error).message}`);
  }
}

/** Signs with ssh-keygen, which supports every private key format. This program never reads the private key. */
function signedBy(key: string, message: string): Promise<string> {
  return new Promise((done, fail) => {
    const signing = execFile(
      'ssh-keygen',
      ['-q', '-Y', 'sign', '-n', RENEWAL_NAMESPACE, '-f', key],
      (error, out, stderr) =>
        error === null
          ? done(out)
          : fail(new ClientError(EXIT.failed, `ssh-keygen cannot sign with ${key}: ${stderr.trim()}`)),
    );
    signing.stdin?.on('error', () => undefined); // ssh-keygen itself reports why it did not read the message.
    signing.stdin?.end(message);
  });
}
