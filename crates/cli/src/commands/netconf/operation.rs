//! The operations, on the command line and in the shell.

use clap::Subcommand;

use super::context::Context;
use super::control::{
    CancelCommit, Commit, DiscardChanges, Hello, KillSession, Lock, Unlock, Update, Validate,
};
use super::edit::{CopyConfig, DeleteConfig, EditConfig, EditData};
use super::get_schema::GetSchema;
use super::read::{Get, GetConfig, GetData};
use super::rpc::Rpc;
use super::subscribe::Subscribe;
use espalier_terminal::Result;

/// An operation.
#[derive(Subcommand, Debug)]
pub enum Operation {
    Hello(Hello),
    Get(Get),
    GetConfig(GetConfig),
    GetData(GetData),
    EditConfig(EditConfig),
    EditData(EditData),
    CopyConfig(CopyConfig),
    DeleteConfig(DeleteConfig),
    Lock(Lock),
    Unlock(Unlock),
    Validate(Validate),
    Commit(Commit),
    Update(Update),
    DiscardChanges(DiscardChanges),
    CancelCommit(CancelCommit),
    KillSession(KillSession),
    GetSchema(GetSchema),
    Rpc(Rpc),
    Subscribe(Subscribe),
}

impl Operation {
    /// Checks the arguments before there is a connection.
    ///
    /// # Errors
    /// They are wrong.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Get(get) => get.output_file.check(),
            Self::GetConfig(get) => get.check(),
            Self::CopyConfig(copy) => copy.check(),
            Self::Subscribe(subscribe) => subscribe.check(),
            Self::GetData(get) => get.output_file.check(),
            Self::GetSchema(get) => get.check(),
            _ => Ok(()),
        }
    }

    /// Does the operation in a session.
    ///
    /// # Errors
    /// Those of arguments, of the session and of the reply.
    pub fn run(&self, context: &Context) -> Result<()> {
        match self {
            Self::Hello(command) => command.run(context),
            Self::Get(command) => command.run(context),
            Self::GetConfig(command) => command.run(context),
            Self::GetData(command) => command.run(context),
            Self::EditConfig(command) => command.run(context),
            Self::EditData(command) => command.run(context),
            Self::CopyConfig(command) => command.run(context),
            Self::DeleteConfig(command) => command.run(context),
            Self::Lock(command) => command.run(context),
            Self::Unlock(command) => command.run(context),
            Self::Validate(command) => command.run(context),
            Self::Commit(command) => command.run(context),
            Self::Update(command) => command.run(context),
            Self::DiscardChanges(command) => command.run(context),
            Self::CancelCommit(command) => command.run(context),
            Self::KillSession(command) => command.run(context),
            Self::GetSchema(command) => command.run(context),
            Self::Rpc(command) => command.run(context),
            Self::Subscribe(command) => command.run(context),
        }
    }
}
