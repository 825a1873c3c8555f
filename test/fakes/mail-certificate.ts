import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Creates PEM files with the key and certificate of a mail server at 127.0.0.1. */
export function mailCertificate(directory: string): { keyFile: string; certFile: string } {
  const [keyFile, certFile] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile, '-out', certFile,
    '-days', '2', '-subj', '/CN=mail', '-addext', 'subjectAltName=IP:127.0.0.1',
  ]); // prettier-ignore
  return { keyFile, certFile };
}
