import type { FastifyRequest } from 'fastify';

/** Port: who may send a large body, asked before any of it is read. */
export abstract class UploadAuthorizer {
  /** @throws Problem 401 or 403. */
  abstract authorize(request: FastifyRequest, scope: string): Promise<void>;
}
