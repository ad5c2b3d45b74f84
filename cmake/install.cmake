include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS wellposed EXPORT wellposed-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS wellposed_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(WP_MPI_FOUND)
  install(TARGETS wellposed_mpi EXPORT wellposed-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS wellposed_mpi_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/wellposed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wellposed-targets NAMESPACE wellposed:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wellposed)
configure_package_config_file(cmake/wellposed-config.cmake.in ${PROJECT_BINARY_DIR}/wellposed-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wellposed)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wellposed-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wellposed-config.cmake ${PROJECT_BINARY_DIR}/wellposed-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wellposed)
# Found relative to the file itself: the tree may be installed to another prefix than was configured.
file(RELATIVE_PATH WP_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/wellposed.pc.in ${PROJECT_BINARY_DIR}/wellposed.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wellposed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
