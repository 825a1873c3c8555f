import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * CLIENT_CIPHERS lists the TLS 1.2 cipher suites that the service offers as a client. The list excludes finite-field Diffie-Hellman, because the server
 * chooses the group: a group of 10,000 bits blocks the event loop for seconds before the certificate is verified.
 */
export const CLIENT_CIPHERS = `${DEFAULT_CIPHERS}:!kDHE`;
