// Prints every route of the built application with the access that its handler declares, as JSON. Run it from the project root.
import 'reflect-metadata';
import { NestFactory, ModulesContainer } from '@nestjs/core';
import { RequestMethod } from '@nestjs/common';
import { pathToFileURL } from 'node:url';

const built = (file) => import(pathToFileURL(`dist/${file}`).href);
const [{ AppModule }, { ACCESS, FRESH }, { httpAdapter }, { Config }] = await Promise.all(
  ['app.module.js', 'access/access.js', 'platform/http/server/configure.js', 'platform/config/config.js'].map(built),
);
const app = await NestFactory.create(AppModule, httpAdapter(new Config({})), { preview: true, logger: false });
const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [...module.controllers.values()]);
const routes = controllers.flatMap(({ metatype }) =>
  Object.getOwnPropertyNames(metatype.prototype)
    .filter((name) => name !== 'constructor')
    .map((name) => metatype.prototype[name])
    .filter((handler) => Reflect.getMetadata('path', handler) !== undefined)
    .flatMap((handler) => [Reflect.getMetadata('path', handler)].flat().map((below) => [handler, below]))
    .map(([handler, below]) => {
      const path = [Reflect.getMetadata('path', metatype), below].join('/');
      return {
        method: RequestMethod[Reflect.getMetadata('method', handler)],
        path: `/${path.split('/').filter(Boolean).join('/')}`.replaceAll(/:(\w+)/g, '{$1}'),
        handler: `${metatype.name}.${handler.name}`,
        access: Reflect.getMetadata(ACCESS, handler),
        isFresh: Reflect.getMetadata(FRESH, handler) === true,
      };
    }),
);
process.stdout.write(JSON.stringify(routes));
process.exit(0);
