import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AccessGuard } from './access.guard.js';
import { ApiKey } from './api-keys/api-key.entity.js';
import { ApiKeysController } from './api-keys/api-keys.controller.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { AuthSchedule } from './auth.schedule.js';
import { Credentials } from './credentials.js';
import { SignInController } from './sign-in.controller.js';
import { SignInService } from './sign-in.service.js';
import { AccessTokens } from './tokens/access-tokens.js';
import { FirstAdministrator } from './users/first-administrator.js';
import { Passwords } from './users/passwords.js';
import { User } from './users/user.entity.js';
import { UsersService } from './users/users.service.js';

@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([ApiKey, User])],
  controllers: [ApiKeysController, SignInController],
  providers: [
    { provide: APP_GUARD, useClass: AccessGuard },
    AccessTokens,
    ApiKeysService,
    AuthSchedule,
    Credentials,
    FirstAdministrator,
    Passwords,
    SignInService,
    UsersService,
  ],
  exports: [ApiKeysService, Credentials, SignInService, UsersService],
})
export class AuthModule {}
