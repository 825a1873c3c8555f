/**
 * node emit-event.mjs NAME < EVENT.json: emits an event inside a process of the built service, as the module that owns the event
 * does, and ends when the listeners' queries have come to rest. Text that is a time of RFC 3339 becomes a Date.
 */
import { NestFactory } from '@nestjs/core';
import { text } from 'node:stream/consumers';

const dist = (path) => new URL(`../../dist/${path}`, import.meta.url).href;
const { ApiModule } = await import(dist('app.module.js'));
const { EventBus } = await import(dist('platform/events/events.js'));

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const event = JSON.parse(await text(process.stdin), (_, value) =>
  typeof value === 'string' && TIME.test(value) ? new Date(value) : value,
);
const app = await NestFactory.createApplicationContext(ApiModule, { logger: ['error'] });
app.get(EventBus).emit(process.argv[2], event);
await new Promise((resolve) => setTimeout(resolve, 300));
await app.close();
process.exit(0);
