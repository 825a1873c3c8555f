import type { FastifyRequest } from 'fastify';
import type { Problem } from '../errors/problem.js';

/**
 * Port: where refused calls are written down before the refusal is answered.
 * Rejects when there is no room for the entry; the caller then hears 503.
 */
export abstract class Refusals {
  abstract record(request: FastifyRequest, problem: Problem): Promise<void>;
}
