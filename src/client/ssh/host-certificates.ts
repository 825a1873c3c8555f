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
/** A certificate is renewed when this part of its life is over: what is left is for a service that is away, and for approvers. */
const DUE_AFTER = 2 / 3;

/** A certificate of SSH as the API shows it. */
export interface HostCertificate {
  readonly id: string;
  readonly status: string;
  readonly certificate: string;
  readonly principals: readonly string[];
  readonly validBefore: string;
  /** Until when the host may renew it by its key; absent: not at all. */
  readonly renewableUntil?: string;
  readonly failure?: { readonly code: string; readonly detail: string };
}

/** Paths of the host keys of this machine that have a certificate beside them. */
export async function certifiedHostKeys(): Promise<string[]> {
  const files = await readdir(HOST_KEYS).catch(() => []);
  return files
    .filter((file) => /^ssh_host_[a-z0-9]+_key-cert\.pub$/.test(file))
    .map((file) => join(HOST_KEYS, file.replace(/-cert\.pub$/, '')));
}

/** The certificate of a key, and when it is due. ClientError when there is none. */
export async function certificateOf(key: string): Promise<{ content: SshCertificateContent; line: string; due: Date }> {
  const line = (await readText(certificateFile(key))).trim();
  const content = readCertificateLine(line);
  if (content?.kind !== 'host')
    throw new ClientError(EXIT.failed, `${certificateFile(key)} is not a host certificate.`);
  const [from, until] = [content.validAfter.getTime(), content.validBefore.getTime()];
  return { content, line, due: new Date(from + DUE_AFTER * (until - from)) };
}

/** Asks for the next certificate with nothing but the key: the answer may wait for an approval, or have failed. */
export async function renewed(api: ApiClient, key: string): Promise<HostCertificate> {
  const { content, line } = await certificateOf(key);
  const signedAt = new Date();
  const signature = await signedBy(key, renewalMessage(content.blob, signedAt));
  const body = { certificate: line, signedAt: signedAt.toISOString(), signature };
  return (await api.call('POST', '/v1/ssh-host-renewals', { body, repeatable: true })) as HostCertificate;
}

/** Puts a certificate beside its key, where ssh and sshd look for it: the old one is there until the new one is whole. */
export async function keepCertificate(key: string, { certificate }: HostCertificate): Promise<string> {
  const file = certificateFile(key);
  const output = await OutputFile.reserve(file);
  await output.write(`${certificate}\n`, { mode: 0o644 });
  return file;
}

/** `KEY.pub`, one line. */
export async function publicKeyOf(key: string): Promise<string> {
  return (await readText(`${key}.pub`)).trim();
}

/** Path of the certificate of a key. */
export const certificateFile = (key: string) => `${key}-cert.pub`;

async function readText(file: string): Promise<string> {
  try {
    return await readTextFile(file);
  } catch (error) {
    throw new ClientError(EXIT.failed, `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** OpenSSH reads the private key, in whatever form it is; this program never does. */
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
    signing.stdin?.on('error', () => undefined); // it says itself why it did not read
    signing.stdin?.end(message);
  });
}
