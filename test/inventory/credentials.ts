import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function runIn(folder: string, program: string, words: string[]): string {
  return execFileSync(program, words, { cwd: folder, stdio: 'pipe' }).toString();
}

/** Creates a CA, a server certificate issued by the CA, key stores with both certificates, and SSH keys. Uses OpenSSL and OpenSSH. */
export function makeCredentials(folder: string): void {
  const openssl = (...words: string[]) => runIn(folder, 'openssl', words);
  const sshKeygen = (...words: string[]) => runIn(folder, 'ssh-keygen', words);
  const days = ['-days', '300', '-nodes'];
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=Test CA',
    ...days,
  );
  openssl(
    'req',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-keyout',
    'leaf.key',
    '-out',
    'leaf.csr',
    '-subj',
    '/CN=shop.example.com',
    '-nodes',
  );
  writeFileSync(join(folder, 'leaf.ext'), 'subjectAltName=DNS:shop.example.com\nextendedKeyUsage=serverAuth\n');
  openssl(
    'x509',
    '-req',
    '-in',
    'leaf.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-days',
    '90',
    '-extfile',
    'leaf.ext',
    '-out',
    'leaf.pem',
  );
  openssl(
    'pkcs12',
    '-export',
    '-in',
    'leaf.pem',
    '-inkey',
    'leaf.key',
    '-certfile',
    'ca.pem',
    '-name',
    'shop',
    '-passout',
    'pass:opens the store',
    '-out',
    'shop.p12',
  );
  openssl(
    'pkcs12',
    '-export',
    '-in',
    'leaf.pem',
    '-inkey',
    'leaf.key',
    '-name',
    'shop',
    '-passout',
    'pass:old',
    '-certpbe',
    'PBE-SHA1-3DES',
    '-keypbe',
    'PBE-SHA1-3DES',
    '-macalg',
    'sha1',
    '-out',
    'old.p12',
  );
  openssl(
    'crl2pkcs7',
    '-nocrl',
    '-certfile',
    'leaf.pem',
    '-certfile',
    'ca.pem',
    '-outform',
    'DER',
    '-out',
    'chain.p7b',
  );
  openssl('x509', '-in', 'leaf.pem', '-outform', 'DER', '-out', 'leaf.der');
  sshKeygen('-q', '-t', 'ed25519', '-N', '', '-C', 'alice@laptop', '-f', 'id_ed25519');
  sshKeygen('-q', '-t', 'rsa', '-b', '2048', '-N', 'sixteen letters!', '-C', 'bob', '-f', 'id_rsa');
}
