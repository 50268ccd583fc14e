/*
 * The tool's commands: wallprof COMMAND [OPTIONS] FILE...
 *
 * A command gets its own arguments, its name first. It returns the exit status: 0; or 1 on failure, with a
 * message on stderr that names the file; or EXIT_USAGE for a wrong command line (tool/io/command.h).
 */
#ifndef WALLPROF_COMMANDS_H
#define WALLPROF_COMMANDS_H

int command_attach(int argc, char **argv);
int command_callers(int argc, char **argv);
int command_ctl(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_export(int argc, char **argv);
int command_gather(int argc, char **argv);
int command_recover(int argc, char **argv);
int command_mcp(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_push(int argc, char **argv);
int command_run(int argc, char **argv);
int command_top(int argc, char **argv);
int command_view(int argc, char **argv);
int command_waits(int argc, char **argv);
int command_blame(int argc, char **argv);

#endif
