import type { FastifyRequest } from 'fastify';
import type { Problem } from '../errors/problem.js';

/** What a refused call is to be answered with. */
export interface Refusal {
  readonly status: number;
  readonly problem: Problem;
}

/** A refusal in the words of another protocol. */
export interface ForeignAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ErrorShape = (refusal: Refusal, request: FastifyRequest) => ForeignAnswer;

const shapes = new Map<string, ErrorShape>();

/** Calls whose path begins so are refused in this shape, whoever refuses them: the router, the reader of bodies, a guard or a service. */
export function useErrorShape(prefix: string, shape: ErrorShape): void {
  shapes.set(prefix, shape);
}

/** The shape for the path of a call; undefined where problem+json is spoken. */
export function errorShapeOf({ url }: FastifyRequest): ErrorShape | undefined {
  return [...shapes].find(([prefix]) => url.startsWith(prefix))?.[1];
}
