import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * CLIENT_CIPHERS are the cipher suites that clients of this service offer in TLS 1.2: without finite-field Diffie-Hellman, whose group the server chooses. A group
 * of 10,000 bits stops the event loop for seconds, before the certificate is verified.
 */
export const CLIENT_CIPHERS = `${DEFAULT_CIPHERS}:!kDHE`;
