import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { AccountFactors } from './second-factors/account-factors.js';
import { PasskeysController } from './second-factors/passkeys.controller.js';
import { PasskeyChallenges, PasskeysService } from './second-factors/passkeys.service.js';
import { RecoveryCodes } from './second-factors/recovery-codes.js';
import { SecondFactorCheck } from './second-factors/second-factor-check.js';
import { PasskeyChallenge, RecoveryCode, SecondFactor } from './second-factors/second-factor.entity.js';
import { SecondFactorsController } from './second-factors/second-factors.controller.js';
import { SecondFactorsService } from './second-factors/second-factors.service.js';
import { CurrentSessionController, SessionsController } from './sign-in/sessions.controller.js';
import { SignInController } from './sign-in/sign-in.controller.js';
import { SignInService } from './sign-in/sign-in.service.js';
import { AccountService } from './users/account.service.js';
import { AdministratorWatch } from './users/administrator-watch.js';
import { FirstAdministrator } from './users/first-administrator.js';
import { InvitationRights } from './users/invitation-rights.js';
import { Invitation } from './users/invitation.entity.js';
import { InvitationsController } from './users/invitations.controller.js';
import { InvitationsReader } from './users/invitations.reader.js';
import { InvitationsService } from './users/invitations.service.js';
import { OperatorAccounts } from './users/operator-accounts.service.js';
import { PasswordChanges } from './users/password-changes.js';
import { PasswordResetsService } from './users/password-resets.service.js';
import { RegistrationService } from './users/registration.service.js';
import { UserAdministrationService } from './users/user-administration.service.js';
import { AccountController, UsersController } from './users/users.controller.js';

/** PeopleModule manages user accounts: registration, invitations, passwords, second factors and sign-in. */
@Module({
  imports: [
    AuditModule,
    CredentialsModule,
    TypeOrmModule.forFeature([Invitation, PasskeyChallenge, RecoveryCode, SecondFactor]),
  ],
  controllers: [
    AccountController,
    CurrentSessionController,
    InvitationsController,
    PasskeysController,
    SecondFactorsController,
    SessionsController,
    SignInController,
    UsersController,
  ],
  providers: [
    AccountFactors,
    AccountService,
    AdministratorWatch,
    FirstAdministrator,
    InvitationRights,
    InvitationsReader,
    InvitationsService,
    OperatorAccounts,
    PasskeyChallenges,
    PasskeysService,
    PasswordChanges,
    PasswordResetsService,
    RecoveryCodes,
    RegistrationService,
    SecondFactorCheck,
    SecondFactorsService,
    SignInService,
    UserAdministrationService,
  ],
  exports: [AdministratorWatch, InvitationRights, OperatorAccounts],
})
export class PeopleModule {}
