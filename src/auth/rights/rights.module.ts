import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CredentialRights } from './credential-rights.js';
import { SecretDisclosure } from './secret-disclosure.entity.js';

/** RightsModule provides the current rights of credentials. */
@Module({
  imports: [TypeOrmModule.forFeature([SecretDisclosure])],
  providers: [CredentialRights],
  exports: [CredentialRights],
})
export class RightsModule {}
